/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "handler/payload.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOB(text)                                                                                 \
    { (text), sizeof(text) - 1 }

static struct recovery_settings settings = {
    .name = "orders",
    .stream = "orders:in",
    .group = "workers",
    .payload = PAYLOAD_JSON,
};

/* All its chunks together, taken in strides that meet no boundary. */
struct whole {
    char *data;
    size_t size;
};

static struct whole build(const struct entry *entry, uint64_t deliveries) {
    struct whole whole = {0};
    struct payload *payload = NULL;
    struct blob next;
    size_t room = 0;

    assert_int_equal(payload_new(&settings, entry, deliveries, &payload), 0);
    for (;;) {
        assert_int_equal(payload_next(payload, &next), 0);
        if (next.size == 0)
            break;
        size_t n = next.size > 7001 ? 7001 : next.size;
        if (whole.size + n > room) {
            room = 2 * (whole.size + n);
            whole.data = realloc(whole.data, room);
            assert_non_null(whole.data);
        }
        memcpy(whole.data + whole.size, next.data, n);
        whole.size += n;
        payload_take(payload, n);
    }
    payload_free(payload);
    return whole;
}

static void expect(const struct entry *entry, uint64_t deliveries, const char *bytes, size_t size) {
    struct whole payload = build(entry, deliveries);

    assert_int_equal(payload.size, size);
    assert_memory_equal(payload.data, bytes, size);
    free(payload.data);
}
#define EXPECT(entry, deliveries, text) expect(entry, deliveries, text, sizeof(text) - 1)

static void json_value(struct blob value, const char *json) {
    struct blob strings[] = {BLOB("f"), value};
    struct entry entry = {.id = {1, 0}, .strings = strings, .n_strings = 2};
    char text[1024];

    int n = snprintf(text, sizeof(text),
                     "{\"recovery\":\"orders\",\"stream\":\"orders:in\",\"group\":\"workers\","
                     "\"id\":\"1-0\",\"deliveries\":1,\"fields\":[[\"f\",%s]]}\n",
                     json);
    expect(&entry, 1, text, (size_t)n);
}

static void test_json_is_byte_exact(void **state) {
    struct blob strings[] = {BLOB("order_id"), BLOB("1001"), BLOB("status"), BLOB("paid")};
    struct entry entry = {.id = {1700000000000, 0}, .strings = strings, .n_strings = 4};

    settings.payload = PAYLOAD_JSON;
    EXPECT(&entry, 2,
           "{\"recovery\":\"orders\",\"stream\":\"orders:in\",\"group\":\"workers\","
           "\"id\":\"1700000000000-0\",\"deliveries\":2,"
           "\"fields\":[[\"order_id\",\"1001\"],[\"status\",\"paid\"]]}\n");
}

static void test_json_keeps_order_and_duplicates(void **state) {
    struct blob strings[] = {BLOB("b"), BLOB("1"), BLOB("a"), BLOB("2"), BLOB("b"), BLOB("")};
    struct entry entry = {.id = {5, 7}, .strings = strings, .n_strings = 6};

    EXPECT(&entry, UINT64_MAX,
           "{\"recovery\":\"orders\",\"stream\":\"orders:in\",\"group\":\"workers\","
           "\"id\":\"5-7\",\"deliveries\":18446744073709551615,"
           "\"fields\":[[\"b\",\"1\"],[\"a\",\"2\"],[\"b\",\"\"]]}\n");
}

static void test_json_without_fields(void **state) {
    struct entry entry = {.id = {5, 7}};

    EXPECT(&entry, 1,
           "{\"recovery\":\"orders\",\"stream\":\"orders:in\",\"group\":\"workers\","
           "\"id\":\"5-7\",\"deliveries\":1,\"fields\":[]}\n");
}

static void test_json_strings(void **state) {
    json_value((struct blob){NULL, 0}, "\"\"");
    json_value((struct blob)BLOB("say \"hi\"\\\n\t"), "\"say \\\"hi\\\"\\\\\\n\\t\"");
    json_value((struct blob)BLOB("a\0b"), "\"a\\u0000b\"");
    json_value((struct blob)BLOB("\xc3\xa4 \xf0\x9f\x98\x80"), "\"\xc3\xa4 \xf0\x9f\x98\x80\"");
    /* not UTF-8: lone bytes, a surrogate, an overlong form, a cut character */
    json_value((struct blob)BLOB("\xff"), "{\"base64\":\"/w==\"}");
    json_value((struct blob)BLOB("\xff\xfe"), "{\"base64\":\"//4=\"}");
    json_value((struct blob)BLOB("\xff\0\x01"), "{\"base64\":\"/wAB\"}");
    json_value((struct blob)BLOB("ab\xff\x01"), "{\"base64\":\"YWL/AQ==\"}");
    json_value((struct blob)BLOB("\xed\xa0\x80"), "{\"base64\":\"7aCA\"}");
    json_value((struct blob)BLOB("\xc0\x80"), "{\"base64\":\"wIA=\"}");
    json_value((struct blob)BLOB("\xe2\x82"), "{\"base64\":\"4oI=\"}");
    json_value((struct blob)BLOB("\xf4\x90\x80\x80"), "{\"base64\":\"9JCAgA==\"}");
}

static void test_json_names_that_are_not_utf8(void **state) {
    struct blob strings[] = {BLOB("\xfe"), BLOB("1")};
    struct entry entry = {.id = {1, 0}, .strings = strings, .n_strings = 2};

    settings.stream = "s\xff";
    settings.group = "g\"";
    EXPECT(&entry, 1,
           "{\"recovery\":\"orders\",\"stream\":{\"base64\":\"c/8=\"},\"group\":\"g\\\"\","
           "\"id\":\"1-0\",\"deliveries\":1,\"fields\":[[{\"base64\":\"/g==\"},\"1\"]]}\n");
    settings.stream = "orders:in";
    settings.group = "workers";
}

static void test_json_of_every_byte_is_one_line(void **state) {
    char low[128];
    struct blob strings[] = {BLOB("f"), {low, sizeof(low)}};
    struct entry entry = {.id = {1, 0}, .strings = strings, .n_strings = 2};
    struct whole payload;

    for (size_t i = 0; i < sizeof(low); i++)
        low[i] = (char)i;
    payload = build(&entry, 1);
    assert_ptr_equal(memchr(payload.data, '\n', payload.size), payload.data + payload.size - 1);

    json_t *json = json_loadb(payload.data, payload.size, JSON_ALLOW_NUL, NULL);
    assert_non_null(json);
    json_t *value = json_array_get(json_array_get(json_object_get(json, "fields"), 0), 1);
    assert_int_equal(json_string_length(value), sizeof(low));
    assert_memory_equal(json_string_value(value), low, sizeof(low));
    json_decref(json);
    free(payload.data);
}

static void test_resp_is_byte_exact(void **state) {
    struct blob strings[] = {BLOB("n\0\r\n"), BLOB(""), BLOB("\xff"), BLOB("12345678901")};
    struct entry entry = {.id = {1700000000000, 12}, .strings = strings, .n_strings = 4};
    struct entry bare = {.id = {1, 2}};

    settings.payload = PAYLOAD_RESP;
    EXPECT(&entry, 3,
           "*2\r\n$16\r\n1700000000000-12\r\n*4\r\n$4\r\nn\0\r\n\r\n$0\r\n\r\n"
           "$1\r\n\xff\r\n$11\r\n12345678901\r\n");
    EXPECT(&bare, 3, "*2\r\n$3\r\n1-2\r\n*0\r\n");
}

static void test_id_is_the_bare_id(void **state) {
    struct entry entry = {.id = {UINT64_MAX, UINT64_MAX}};

    settings.payload = PAYLOAD_ID;
    EXPECT(&entry, 3, "18446744073709551615-18446744073709551615\n");
}

enum { PAIRS = 10000 };

static void test_ten_thousand_pairs(void **state) {
    static struct blob strings[2 * PAIRS];
    struct entry entry = {.id = {1, 2}, .strings = strings, .n_strings = 2 * PAIRS};
    struct whole payload;

    for (size_t i = 0; i < PAIRS; i++) {
        strings[2 * i] = (struct blob){"same", 4};
        strings[2 * i + 1] = (struct blob){"\n\n\n\n", i % 5};
    }
    settings.payload = PAYLOAD_JSON;
    payload = build(&entry, 1);
    json_t *json = json_loadb(payload.data, payload.size, 0, NULL);
    assert_non_null(json);
    json_t *fields = json_object_get(json, "fields");
    assert_int_equal(json_array_size(fields), PAIRS);
    json_t *last = json_array_get(fields, PAIRS - 1);
    assert_string_equal(json_string_value(json_array_get(last, 1)), "\n\n\n\n");
    json_decref(json);
    free(payload.data);

    settings.payload = PAYLOAD_RESP;
    payload = build(&entry, 1);
    static const char head[] = "*2\r\n$3\r\n1-2\r\n*20000\r\n$4\r\nsame\r\n$0\r\n\r\n";
    assert_memory_equal(payload.data, head, sizeof(head) - 1);
    free(payload.data);
}

/* Values that are made of many pieces. */
static void test_large_values(void **state) {
    const size_t size = 1 << 20;
    char *value = malloc(size);
    struct blob strings[] = {BLOB("f"), {value, size}};
    struct entry entry = {.id = {1, 2}, .strings = strings, .n_strings = 2};
    struct whole payload;
    size_t around =
        sizeof("{\"recovery\":\"orders\",\"stream\":\"orders:in\",\"group\":\"workers\","
               "\"id\":\"1-2\",\"deliveries\":1,\"fields\":[[\"f\",]]}\n") -
        1;

    assert_non_null(value);
    settings.payload = PAYLOAD_JSON;
    memset(value, 'x', size);
    payload = build(&entry, 1);
    assert_int_equal(payload.size, around + size + 2);
    free(payload.data);
    memset(value, 1, size); /* \u0001 */
    payload = build(&entry, 1);
    assert_int_equal(payload.size, around + 6 * size + 2);
    free(payload.data);
    memset(value, 0xff, size);
    payload = build(&entry, 1);
    assert_int_equal(payload.size, around + (size + 2) / 3 * 4 + sizeof("{\"base64\":\"\"}") - 1);
    free(payload.data);
    free(value);
}

/* Characters of two to four bytes lie across the ends of pieces. */
static void test_pieces_end_between_characters(void **state) {
    static const char *const characters[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};

    settings.payload = PAYLOAD_JSON;
    for (size_t c = 0; c < 3; c++) {
        size_t width = strlen(characters[c]), size = 0, room = (200 << 10) + 3;
        char *value = malloc(room);

        assert_non_null(value);
        value[size++] = 'x';
        while (size + width <= room) {
            memcpy(value + size, characters[c], width);
            size += width;
        }
        struct blob strings[] = {BLOB("f"), {value, size}};
        struct entry entry = {.id = {1, 2}, .strings = strings, .n_strings = 2};
        struct whole payload = build(&entry, 1);
        json_t *json = json_loadb(payload.data, payload.size, 0, NULL);

        assert_non_null(json);
        json_t *back = json_array_get(json_array_get(json_object_get(json, "fields"), 0), 1);
        assert_int_equal(json_string_length(back), size);
        assert_memory_equal(json_string_value(back), value, size);
        json_decref(json);
        free(payload.data);
        free(value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_is_byte_exact),
        cmocka_unit_test(test_json_keeps_order_and_duplicates),
        cmocka_unit_test(test_json_without_fields),
        cmocka_unit_test(test_json_strings),
        cmocka_unit_test(test_json_names_that_are_not_utf8),
        cmocka_unit_test(test_json_of_every_byte_is_one_line),
        cmocka_unit_test(test_resp_is_byte_exact),
        cmocka_unit_test(test_id_is_the_bare_id),
        cmocka_unit_test(test_ten_thousand_pairs),
        cmocka_unit_test(test_large_values),
        cmocka_unit_test(test_pieces_end_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
