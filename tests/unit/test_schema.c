/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON Schema of outputs, from the notation of commands; near misses of words. */
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/commands.h"
#include "cli/ctl/schema.h"
#include "libfabmgr/base/near.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

/* Returns the schema of a notation without spaces and line ends. */
static char *schema_of(const char *json)
{
    const struct cmd c = {.noun = "x", .summary = "y", .json = json};
    char *text = NULL, *to;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(schema_write_command(f, &c), FAB_OK);
    fclose(f);
    to = text;
    for (const char *from = text; *from != '\0'; from++)
        if (*from != ' ' && *from != '\n')
            *to++ = *from;
    *to = '\0';
    return text;
}

static void check(const char *json, const char *expected)
{
    static const char begin[] = "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
                                "\"title\":\"fabricctlx\",\"description\":\"y\",\"anyOf\":[";
    char *text = schema_of(json);
    ck_assert_int_eq(strncmp(text, begin, strlen(begin)), 0);
    size_t len = strlen(text);
    ck_assert_str_eq(text + len - 2, "]}");
    text[len - 2] = '\0';
    ck_assert_str_eq(text + strlen(begin), expected);
    free(text);
}

#define OBJECT "{\"type\":\"object\",\"properties\":"
#define TEXT "{\"type\":\"string\"}"
#define BOOL "{\"type\":\"boolean\"}"
#define U32 "{\"type\":\"integer\",\"minimum\":0,\"maximum\":4294967295}"
#define STRICT ",\"additionalProperties\":false}"

START_TEST(keys_have_types)
{
    check("a:text b?:bool", OBJECT "{\"a\":" TEXT ",\"b\":" BOOL "},\"required\":[\"a\"]" STRICT);
    check("a:text|null",
          OBJECT "{\"a\":{\"anyOf\":[" TEXT ",{\"type\":\"null\"}]}},\"required\":[\"a\"]" STRICT);
    check("a:'b c'|'d'|yes_no",
          OBJECT "{\"a\":{\"enum\":[\"bc\",\"d\",\"yes\",\"no\"]}},\"required\":[\"a\"]" STRICT);
    check("a:{ *:text }",
          OBJECT "{\"a\":" OBJECT "{},\"required\":[],\"additionalProperties\":" TEXT
                 "}},\"required\":[\"a\"]" STRICT);
}
END_TEST

START_TEST(keys_come_together)
{
    check("a&:text b&:bool c:text",
          OBJECT "{\"a\":" TEXT ",\"b\":" BOOL ",\"c\":" TEXT "},\"required\":[\"c\"],"
                 "\"dependentRequired\":{\"a\":[\"b\"],\"b\":[\"a\"]}" STRICT);
    check("=rates?(x_)", OBJECT
          "{\"x_supported\":" TEXT ",\"x_enabled\":" TEXT ",\"x_active\":" TEXT "},\"required\":[],"
          "\"dependentRequired\":{\"x_supported\":[\"x_enabled\"],"
          "\"x_enabled\":[\"x_active\"],\"x_active\":[\"x_supported\"]}" STRICT);
}
END_TEST

START_TEST(fields_have_the_types_of_the_api)
{
    check("@Path(pkey partition)", OBJECT "{\"pkey\":" U32 ",\"partition\":" TEXT
                                          "},\"required\":[\"pkey\",\"partition\"]" STRICT);
}
END_TEST

START_TEST(objects_have_alternatives)
{
    check("a:[ b:text / c:text ] / d:text",
          OBJECT "{\"a\":{\"type\":\"array\",\"items\":{\"anyOf\":[" OBJECT "{\"b\":" TEXT
                 "},\"required\":[\"b\"]" STRICT "," OBJECT "{\"c\":" TEXT
                 "},\"required\":[\"c\"]" STRICT "]}}},\"required\":[\"a\"]" STRICT "," OBJECT
                 "{\"d\":" TEXT "},\"required\":[\"d\"]" STRICT);
}
END_TEST

/* An assertion of the program fails if a notation is wrong. */
START_TEST(every_command_has_a_schema)
{
    char *text = NULL;
    size_t len = 0, outputs = 0;
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (commands[i]->json == NULL)
            continue;
        FILE *f = open_memstream(&text, &len);
        ck_assert_ptr_nonnull(f);
        ck_assert_int_eq(schema_write_command(f, commands[i]), FAB_OK);
        fclose(f);
        ck_assert_ptr_nonnull(strstr(text, commands[i]->summary));
        free(text);
        outputs++;
    }
    ck_assert_uint_gt(outputs, 90);
}
END_TEST

static void check_distance(const char *a, const char *b, unsigned most, unsigned expected)
{
    ck_assert_uint_eq(fab_base_distance(a, strlen(a), b, strlen(b), most), expected);
    ck_assert_uint_eq(fab_base_distance(b, strlen(b), a, strlen(a), most), expected);
}

START_TEST(distances_are_counted)
{
    char a[FAB_BASE_NEAR_LEN + 2];
    check_distance("switch", "switch", 2, 0);
    check_distance("Switch", "sWITCH", 2, 0);
    check_distance("swich", "switch", 2, 1);
    check_distance("swithc", "switch", 2, 2);
    check_distance("", "ab", 2, 2);
    check_distance("gateway", "switch", 2, 3);
    check_distance("kitten", "sitting", 5, 3);
    check_distance("kitten", "sitting", 0, 1);
    memset(a, 'a', sizeof a);
    ck_assert_uint_eq(fab_base_distance(a, sizeof a, a, sizeof a, 2), 3);
}
END_TEST

START_TEST(near_misses_are_suggested)
{
    static const char *const words[] = {"switch", "adapter", "router", NULL};
    size_t i = 9;
    ck_assert_str_eq(near_word("swich", words), "switch");
    ck_assert_str_eq(near_word("ruoter", words), "router");
    ck_assert_str_eq(near_word("Rout", words), "router");
    ck_assert_ptr_null(near_word("gateway", words));
    ck_assert_ptr_null(near_word("", words));
    ck_assert(find_word("ROUTER", words, &i));
    ck_assert_uint_eq(i, 2);
    ck_assert(!find_word("rout", words, &i));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schema");
    TCase *tcase = tcase_create("schema");
    tcase_add_test(tcase, keys_have_types);
    tcase_add_test(tcase, keys_come_together);
    tcase_add_test(tcase, fields_have_the_types_of_the_api);
    tcase_add_test(tcase, objects_have_alternatives);
    tcase_add_test(tcase, every_command_has_a_schema);
    tcase_add_test(tcase, distances_are_counted);
    tcase_add_test(tcase, near_misses_are_suggested);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
