/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nothing that the daemon itself does makes memory executable. It forgoes that for good, without
 * passing it on: handlers are whatever their authors like, and a JIT compiler needs it (which is
 * why the unit does not say MemoryDenyWriteExecute=).
 */
#include "inside.h"

#include <linux/prctl.h>
#include <sys/prctl.h>

/* Linux 6.6; headers may be older than the kernel. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN (1UL << 0)
#endif
#ifndef PR_MDWE_NO_INHERIT
#define PR_MDWE_NO_INHERIT (1UL << 1)
#endif

void own_memory_deny_exec(void) {
    /* An older kernel says EINVAL: one line of defence less. */
    (void)prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN | PR_MDWE_NO_INHERIT, 0UL, 0UL, 0UL);
}
