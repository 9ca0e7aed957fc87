/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "handler/outcome.h"
#include <signal.h>
#include <sys/wait.h>

#define EXITED(code) W_EXITCODE(code, 0)
#define SIGNALED(signo) W_EXITCODE(0, signo)

static void expect(int status, enum stop_cause cause, enum outcome outcome, const char *text) {
    char reason[OUTCOME_REASON_MAX];

    assert_int_equal(outcome_of_status(status, cause, 30 * USEC_PER_SEC, reason), outcome);
    assert_string_equal(reason, text);
}

static void test_by_itself(void **state) {
    expect(EXITED(0), STOP_NONE, OUTCOME_OK, "exit status 0");
    expect(EXITED(1), STOP_NONE, OUTCOME_RETRY, "exit status 1");
    expect(EXITED(65), STOP_NONE, OUTCOME_REJECT, "exit status 65");
    expect(EXITED(75), STOP_NONE, OUTCOME_RETRY, "exit status 75");
    expect(EXITED(127), STOP_NONE, OUTCOME_RETRY, "exit status 127");
    expect(EXITED(255), STOP_NONE, OUTCOME_RETRY, "exit status 255");
    expect(SIGNALED(SIGKILL), STOP_NONE, OUTCOME_RETRY, "killed by signal 9 (SIGKILL)");
    expect(SIGNALED(SIGSEGV) | WCOREFLAG, STOP_NONE, OUTCOME_RETRY,
           "killed by signal 11 (SIGSEGV)");
    expect(SIGNALED(40), STOP_NONE, OUTCOME_RETRY, "killed by signal 40");
    /* 65 as a signal number is no verdict */
    expect(SIGNALED(64), STOP_NONE, OUTCOME_RETRY, "killed by signal 64");
}

static void test_timed_out_is_always_retry(void **state) {
    static const int statuses[] = {EXITED(0), EXITED(65), EXITED(1), SIGNALED(SIGTERM)};

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        expect(statuses[i], STOP_TIMED_OUT, OUTCOME_RETRY, "timed out after 30s");
}

static void test_stopped_is_retry_unless_done(void **state) {
    expect(EXITED(0), STOP_ASKED, OUTCOME_OK, "exit status 0");
    expect(EXITED(65), STOP_ASKED, OUTCOME_RETRY, "stopped: exit status 65");
    expect(EXITED(143), STOP_ASKED, OUTCOME_RETRY, "stopped: exit status 143");
    expect(SIGNALED(SIGTERM), STOP_ASKED, OUTCOME_RETRY, "stopped: killed by signal 15 (SIGTERM)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_itself),
        cmocka_unit_test(test_timed_out_is_always_retry),
        cmocka_unit_test(test_stopped_is_retry_unless_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
