/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In children, as it cannot be taken back; the program itself is what they start.
 */
#include "unit.h"

#include "daemon/inside.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PR_SET_MDWE_NUMBER 65
#define REFUSE_AND_DO_NOT_INHERIT 3UL

enum { CAN_EXECUTE = 10, CANNOT, KERNEL_CANNOT };

static int try_executable_memory(void) {
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page != MAP_FAILED ? CAN_EXECUTE : CANNOT;
}

static int status_of(int (*act)(void)) {
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(act());
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int ask_kernel(void) {
    return prctl(PR_SET_MDWE_NUMBER, REFUSE_AND_DO_NOT_INHERIT, 0UL, 0UL, 0UL) == 0 ? 0
                                                                                    : KERNEL_CANNOT;
}

static int denied(void) {
    own_memory_deny_exec();
    return try_executable_memory();
}

static int denied_then_started(void) {
    own_memory_deny_exec();
    (void)execl("/proc/self/exe", "test-own_memory", "try", NULL);
    return errno;
}

static void leave_out_where_unknown(void) {
    LEAVE_OUT_IF(under_valgrind(), "valgrind itself makes memory executable");
    LEAVE_OUT_IF(try_executable_memory() == CANNOT, "nobody here may make memory executable");
    LEAVE_OUT_IF(status_of(ask_kernel) == KERNEL_CANNOT, "the kernel has no PR_MDWE_NO_INHERIT");
}

static void test_own_memory_cannot_be_made_executable(void **state) {
    leave_out_where_unknown();
    assert_int_equal(status_of(denied), CANNOT);
}

static void test_what_is_started_can(void **state) {
    leave_out_where_unknown();
    assert_int_equal(status_of(denied_then_started), CAN_EXECUTE);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_memory_cannot_be_made_executable),
        cmocka_unit_test(test_what_is_started_can),
    };

    if (argc == 2 && strcmp(argv[1], "try") == 0)
        return try_executable_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
