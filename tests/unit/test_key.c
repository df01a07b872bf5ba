/* SPDX-License-Identifier: BSD-3-Clause */
/* Key files: made once with a random key, private to their user, and refused if they are not. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/store/key.h"
#include "fabricd/store/m_key.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

static char folder[64], path[80], why[512];

static void setup(void)
{
    snprintf(folder, sizeof folder, "/tmp/fabricd-key.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/sa_key", folder);
    why[0] = '\0';
}

static void teardown(void)
{
    unlink(path);
    rmdir(folder);
}

static void write_file(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    ck_assert_int_eq(chmod(path, mode), 0);
}

START_TEST(a_key_is_made_once_and_private)
{
    uint64_t key = 0, again = 0, other = 0;
    struct stat st;
    umask(0);
    ck_assert_int_eq(store_key(folder, "sa_key", &key, why, sizeof why), FAB_OK);
    ck_assert_uint_ne(key, 0);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(st.st_size, 19);
    ck_assert_int_eq(store_key(folder, "sa_key", &again, why, sizeof why), FAB_OK);
    ck_assert_uint_eq(key, again);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(store_key(folder, "sa_key", &other, why, sizeof why), FAB_OK);
    ck_assert_uint_ne(key, other);
}
END_TEST

START_TEST(the_operators_key_is_read)
{
    static const char *const good[] = {"0xab", "0xAB\n", "0x00000000000000ab\n", "0xab \n\n"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t key = 0;
        write_file(good[i], 0600);
        ck_assert_int_eq(store_key(folder, "sa_key", &key, why, sizeof why), FAB_OK);
        ck_assert_uint_eq(key, 0xab);
    }
}
END_TEST

START_TEST(a_damaged_file_is_refused_and_stays)
{
    static const char *const bad[] = {
        "",
        "ab\n",
        "0x",
        "0x0\n",
        "0xg1",
        "0x12 3",
        "0x10000000000000000",
        "0xabababababababababababababababababababababababababababababababababab"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t key = 7;
        struct stat st;
        write_file(bad[i], 0600);
        ck_assert_int_eq(store_key(folder, "sa_key", &key, why, sizeof why), FAB_E_FORMAT);
        ck_assert_uint_eq(key, 7);
        ck_assert_ptr_nonnull(strstr(why, path));
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_int_eq(st.st_size, (off_t)strlen(bad[i]));
    }
}
END_TEST

START_TEST(a_file_that_others_can_read_is_refused)
{
    static const mode_t modes[] = {0640, 0604, 0660, 0601, 0666};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        uint64_t key = 7;
        write_file("0xab\n", modes[i]);
        ck_assert_int_eq(store_key(folder, "sa_key", &key, why, sizeof why), FAB_E_DENIED);
        ck_assert_ptr_nonnull(strstr(why, "chmod 600"));
        ck_assert_uint_eq(key, 7);
    }
}
END_TEST

START_TEST(without_a_folder_there_is_an_error)
{
    uint64_t key = 7;
    ck_assert_int_eq(store_key("/no/such/folder", "sa_key", &key, why, sizeof why), FAB_E_IO);
    ck_assert_ptr_nonnull(strstr(why, "No such file"));
    char longest[1100];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_int_eq(store_key(longest, "sa_key", &key, why, sizeof why), FAB_E_IO);
    ck_assert_uint_eq(key, 7);
}
END_TEST

#define HEAD "fabricd M_Keys 1\ngeneration 3\nsince 7\norigin generated\ncurrent 0xab\n"

START_TEST(the_m_key_file_is_written_and_read)
{
    uint64_t ports[] = {1, 0x2c9, UINT64_MAX};
    struct store_m_key k = {.generation = 3,
                            .since_s = 1767225600,
                            .generated = true,
                            .current = 0xab,
                            .previous = 0xcd,
                            .rotating = true,
                            .port = ports,
                            .count = 3};
    struct store_m_key is;
    struct stat st;
    snprintf(path, sizeof path, "%s/m_key", folder);
    umask(0);
    ck_assert_int_eq(store_m_key_read(folder, &is, why, sizeof why), FAB_E_NOT_FOUND);
    ck_assert_int_eq(store_m_key_write(folder, &k, why, sizeof why), FAB_OK);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(store_m_key_read(folder, &is, why, sizeof why), FAB_OK);
    ck_assert_uint_eq(is.generation, 3);
    ck_assert_uint_eq(is.since_s, 1767225600);
    ck_assert(is.generated && is.rotating);
    ck_assert_uint_eq(is.current, 0xab);
    ck_assert_uint_eq(is.previous, 0xcd);
    ck_assert_uint_eq(is.count, 3);
    ck_assert_mem_eq(is.port, ports, sizeof ports);
    store_m_key_fini(&is);
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(store_m_key_read(folder, &is, why, sizeof why), FAB_E_DENIED);
}
END_TEST

/* A file of one kind of key is not taken for the other. */
START_TEST(the_cc_key_has_a_file_of_its_own)
{
    struct store_m_key m = {.generation = 1, .current = 0xab, .generated = true}, is;
    uint64_t key = 0, again = 0;
    struct stat st;
    ck_assert_int_eq(store_m_key_write(folder, &m, why, sizeof why), FAB_OK);
    ck_assert_int_eq(store_cc_key_read(folder, &is, why, sizeof why), FAB_E_NOT_FOUND);
    ck_assert_int_eq(store_cc_key_generated(folder, &key, why, sizeof why), FAB_OK);
    ck_assert_int_eq(store_cc_key_generated(folder, &again, why, sizeof why), FAB_OK);
    ck_assert(key != 0 && key != 0xab && key == again);
    snprintf(path, sizeof path, "%s/cc_key", folder);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(store_cc_key_read(folder, &is, why, sizeof why), FAB_OK);
    ck_assert_int_eq(is.of, STORE_KEY_OF_CONGESTION);
    ck_assert_uint_eq(is.generation, 1);
    store_m_key_fini(&is);
    write_file(HEAD "end\n", 0600);
    ck_assert_int_eq(store_cc_key_read(folder, &is, why, sizeof why), FAB_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(why, "takes each device back"));
}
END_TEST

START_TEST(a_next_key_lists_ports_until_they_are_struck)
{
    struct store_m_key was = {
        .of = STORE_KEY_OF_CONGESTION, .generation = 4, .current = 0xab, .previous = 1};
    struct store_m_key k = store_m_key_next(&was, 0xcd, true, 99);
    ck_assert(k.of == was.of && k.generation == 5 && k.current == 0xcd && k.previous == 0xab);
    ck_assert(k.rotating && k.generated && k.since_s == 99 && k.count == 0);
    uint64_t *list = malloc(5 * sizeof *list);
    memcpy(list, (uint64_t[]){9, 0, 3, 9, 7}, 5 * sizeof *list);
    store_m_key_set_ports(&k, list, 5);
    ck_assert_uint_eq(k.count, 3);
    ck_assert_ptr_eq(store_m_key_find(&k, 7), k.port + 1);
    ck_assert_ptr_null(store_m_key_find(&k, 8));
    ck_assert_uint_eq(store_m_key_strike(&k, (uint8_t[]){0, 1, 0}), 1);
    ck_assert_ptr_null(store_m_key_find(&k, 7));
    ck_assert_ptr_nonnull(store_m_key_find(&k, 9));
    ck_assert_uint_eq(k.count, 2);
    store_m_key_fini(&k);
    was.current = 0; /* devices without a key need no rotation */
    ck_assert(!store_m_key_next(&was, 0xcd, true, 99).rotating);
}
END_TEST

START_TEST(a_damaged_m_key_file_is_refused_and_stays)
{
    static const char *const bad[] = {
        "",
        "fabricd M_Keys 2\n",
        "fabricd M_Keys 1\ngeneration 0\nsince 7\norigin generated\ncurrent 0xab\nend\n",
        "fabricd M_Keys 1\ngeneration 3\nsince 7\norigin other\ncurrent 0xab\nend\n",
        "fabricd M_Keys 1\ngeneration 3\nsince 7\norigin generated\ncurrent 0x0\nend\n",
        HEAD,
        HEAD "end",
        HEAD "end\n\n",
        HEAD "rotating\nend\n",
        HEAD "port 0x1\nend\n",
        HEAD "previous 0xab\nend\n",
        HEAD "previous 0x0\nend\n",
        HEAD "previous 0x1\nport 0x2\nport 0x1\nend\n",
        HEAD "previous 0x1\nport 0x0\nend\n",
        HEAD "previous 0x1\nport 0x10000000000000000\nend\n"};
    snprintf(path, sizeof path, "%s/m_key", folder);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct store_m_key is;
        struct stat st;
        uint64_t key = 7;
        write_file(bad[i], 0600);
        ck_assert_int_eq(store_m_key_read(folder, &is, why, sizeof why), FAB_E_FORMAT);
        ck_assert_ptr_nonnull(strstr(why, "damaged at line"));
        ck_assert_int_eq(store_m_key_generated(folder, &key, why, sizeof why), FAB_E_FORMAT);
        ck_assert_uint_eq(key, 7);
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_int_eq(st.st_size, (off_t)strlen(bad[i]));
    }
}
END_TEST

/* Every single changed or missing byte is refused, or read as another valid file; nothing crashes.
 */
START_TEST(random_damage_to_the_m_key_file_is_survived)
{
    static const char good[] = HEAD "previous 0xcd\nrotating\nport 0x1\nport 0x2\nend\n";
    for (size_t at = 0; at < sizeof good - 1; at++) {
        char text[sizeof good];
        struct store_m_key is = {0};
        ck_assert_int_eq(store_m_key_parse(STORE_KEY_OF_PORTS, good, at, &is, why, sizeof why),
                         FAB_E_FORMAT);
        for (unsigned byte = 0; byte < 256; byte++) {
            memcpy(text, good, sizeof text);
            text[at] = (char)byte;
            int r =
                store_m_key_parse(STORE_KEY_OF_PORTS, text, sizeof text - 1, &is, why, sizeof why);
            ck_assert(r == FAB_OK || r == FAB_E_FORMAT);
            if (r == FAB_OK)
                store_m_key_fini(&is);
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("key");
    TCase *t = tcase_create("key");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_key_is_made_once_and_private);
    tcase_add_test(t, the_operators_key_is_read);
    tcase_add_test(t, a_damaged_file_is_refused_and_stays);
    tcase_add_test(t, a_file_that_others_can_read_is_refused);
    tcase_add_test(t, without_a_folder_there_is_an_error);
    tcase_add_test(t, the_m_key_file_is_written_and_read);
    tcase_add_test(t, the_cc_key_has_a_file_of_its_own);
    tcase_add_test(t, a_next_key_lists_ports_until_they_are_struck);
    tcase_add_test(t, a_damaged_m_key_file_is_refused_and_stays);
    tcase_add_test(t, random_damage_to_the_m_key_file_is_survived);
    suite_add_tcase(s, t);
    return test_run(s);
}
