/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pure parts around a link: back-off, the turn of addresses, known faults, legal moves.
 */
#include "redis/backoff.h"
#include "redis/link_internal.h"
#include "redis/topology.h"
#include "redis/version.h"
#include "unit.h"

#include <string.h>

#define MS USEC_PER_MSEC

static void test_backoff_doubles_up_to_the_maximum(void **state) {
    (void)state;
    struct backoff b;
    backoff_init(&b, 100 * MS, 2000 * MS);
    const usec_t expected[] = {100, 200, 400, 800, 1600, 1600, 1600};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        assert_int_equal(backoff_next(&b, USEC_INFINITY, 0), expected[i] * MS);
    backoff_reset(&b);
    assert_int_equal(backoff_next(&b, USEC_INFINITY, 0), 100 * MS);
}

static void test_backoff_jitter_adds_up_to_a_quarter(void **state) {
    (void)state;
    struct backoff b;
    for (uint32_t random = 0; random < 100000; random += 997) {
        backoff_init(&b, 100 * MS, 2000 * MS);
        for (int i = 0; i < 100; i++) {
            usec_t wait = backoff_next(&b, USEC_INFINITY, random);
            assert_in_range(wait, 100 * MS, 2000 * MS);
        }
    }
    backoff_init(&b, 100 * MS, 2000 * MS);
    assert_int_equal(backoff_next(&b, USEC_INFINITY, 25 * MS), 125 * MS);
    backoff_init(&b, 100 * MS, 2000 * MS);
    assert_int_equal(backoff_next(&b, USEC_INFINITY, 25 * MS + 1), 100 * MS);
}

static void test_backoff_cap_beats_minimum_and_maximum(void **state) {
    (void)state;
    struct backoff b;
    backoff_init(&b, 100 * MS, 30000 * MS);
    for (uint32_t i = 0; i < 100; i++)
        assert_true(backoff_next(&b, 250 * MS, i * 7919) <= 250 * MS);
    backoff_init(&b, 100 * MS, 30000 * MS);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(backoff_next(&b, 40 * MS, i * 7919), 40 * MS);
    backoff_init(&b, 1, 1);
    assert_int_equal(backoff_next(&b, USEC_INFINITY, 12345), 1);
}

static void test_backoff_does_not_overflow(void **state) {
    (void)state;
    struct backoff b;
    backoff_init(&b, USEC_INFINITY / 2, USEC_INFINITY);
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(backoff_next(&b, USEC_INFINITY, UINT32_MAX) >= USEC_INFINITY / 2);
}

static const struct server_address three[] = {{.port = 1}, {.port = 2}, {.port = 3}};

static void test_a_round_ends_when_each_address_has_failed(void **state) {
    (void)state;
    const struct redis_settings settings = {.addresses = three, .n_addresses = 3};
    struct topology t;
    topology_init(&t, &settings);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(topology_current(&t)->port, 1);
        assert_true(topology_failed(&t));
        assert_int_equal(topology_current(&t)->port, 2);
        assert_true(topology_failed(&t));
        assert_int_equal(topology_current(&t)->port, 3);
        assert_false(topology_failed(&t));
    }
}

static void test_a_lost_link_begins_at_the_first_address(void **state) {
    (void)state;
    const struct redis_settings settings = {.addresses = three, .n_addresses = 3};
    struct topology t;
    topology_init(&t, &settings);
    assert_true(topology_failed(&t));
    topology_lost(&t, false);
    assert_int_equal(topology_current(&t)->port, 1);
    assert_true(topology_failed(&t));
    assert_true(topology_failed(&t));
    assert_false(topology_failed(&t));
}

static void test_a_replica_is_passed_over(void **state) {
    (void)state;
    const struct redis_settings settings = {.addresses = three, .n_addresses = 3};
    struct topology t;
    topology_init(&t, &settings);
    topology_lost(&t, true);
    assert_int_equal(topology_current(&t)->port, 2);
    assert_true(topology_failed(&t));
    assert_true(topology_failed(&t));
    assert_int_equal(topology_current(&t)->port, 1);
    assert_false(topology_failed(&t));

    const struct redis_settings one = {.addresses = three, .n_addresses = 1};
    topology_init(&t, &one);
    topology_lost(&t, true);
    assert_int_equal(topology_current(&t)->port, 1);
    assert_false(topology_failed(&t));
}

static void test_all_addresses_of_a_name_before_the_next_url(void **state) {
    (void)state;
    const struct redis_settings settings = {.addresses = three, .n_addresses = 2};
    struct topology t;
    size_t at = 77;
    topology_init(&t, &settings);
    for (int round = 0; round < 3; round++) {
        assert_false(topology_is_found(&t, &at)); /* looked up anew */
        topology_found(&t, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(topology_current(&t)->port, 1);
            assert_true(topology_is_found(&t, &at));
            assert_int_equal(at, i);
            assert_true(topology_failed(&t));
        }
        assert_int_equal(topology_current(&t)->port, 2);
        assert_false(topology_is_found(&t, &at));
        assert_false(topology_failed(&t)); /* none found */
    }
    topology_found(&t, 2);
    assert_true(topology_failed(&t));
    topology_lost(&t, false);
    assert_false(topology_is_found(&t, &at));
    assert_int_equal(topology_current(&t)->port, 1);
}

static void test_alone(void **state) {
    (void)state;
    const struct redis_settings one = {.addresses = three, .n_addresses = 1};
    const struct redis_settings two = {.addresses = three, .n_addresses = 2};
    struct topology t;
    topology_init(&t, &one);
    assert_true(topology_is_alone(&t));
    topology_found(&t, 1);
    assert_true(topology_is_alone(&t));
    topology_found(&t, 2);
    assert_false(topology_is_alone(&t));
    topology_init(&t, &two);
    assert_false(topology_is_alone(&t));
}

static void test_known_faults(void **state) {
    (void)state;
    assert_non_null(version_fault("redis", "6.0.16", 0));
    assert_non_null(version_fault("redis", "6.2.0", 0));
    assert_non_null(version_fault("redis", "6.2.1", 0));
    assert_null(version_fault("redis", "6.2.2", 0));
    assert_null(version_fault("redis", "6.2.16", 0));
    assert_non_null(strstr(version_fault("redis", "7.0.3", 0), "CVE-2022-31144"));
    assert_non_null(strstr(version_fault("redis", "7.0.3", 1), "CVE-2022-35951"));
    assert_null(version_fault("redis", "7.0.3", 2));
    assert_non_null(strstr(version_fault("redis", "7.0.4", 0), "CVE-2022-35951"));
    assert_null(version_fault("redis", "7.0.4", 1));
    assert_null(version_fault("redis", "7.0.5", 0));
    assert_null(version_fault("redis", "7.0.15", 0));
    assert_non_null(version_fault("redis", "8.2.2", 0));
    assert_null(version_fault("redis", "8.2.3", 0));
    assert_null(version_fault("valkey", "7.0.3", 0));
    assert_null(version_fault("redis", "", 0));
    assert_null(version_fault("redis", "unstable", 0));
    assert_null(version_fault("redis", "255.255.255", 0));
    assert_null(version_fault("redis", "99999999999999999999999.1", 0));
}

/* Row: from. Column: to, in the order of the enum. */
static const char *const moves[_LINK_STATE_MAX] = {
    [LINK_DOWN] = ".r....",     [LINK_RESOLVING] = "..c..C", [LINK_CONNECTING] = "...g.C",
    [LINK_GREETING] = "....uC", [LINK_UP] = ".....C",        [LINK_CLOSING] = "d.....",
};

static void test_every_move_of_the_state_table(void **state) {
    (void)state;
    for (int from = 0; from < _LINK_STATE_MAX; from++)
        for (int to = 0; to < _LINK_STATE_MAX; to++)
            assert_int_equal(link_move_is_legal((enum link_state)from, (enum link_state)to),
                             moves[from][to] != '.');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff_doubles_up_to_the_maximum),
        cmocka_unit_test(test_backoff_jitter_adds_up_to_a_quarter),
        cmocka_unit_test(test_backoff_cap_beats_minimum_and_maximum),
        cmocka_unit_test(test_backoff_does_not_overflow),
        cmocka_unit_test(test_a_round_ends_when_each_address_has_failed),
        cmocka_unit_test(test_a_lost_link_begins_at_the_first_address),
        cmocka_unit_test(test_a_replica_is_passed_over),
        cmocka_unit_test(test_all_addresses_of_a_name_before_the_next_url),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_known_faults),
        cmocka_unit_test(test_every_move_of_the_state_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
