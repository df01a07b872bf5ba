/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that contain keys: which files are accepted, and who may be able to read them. No message
 * may show a key. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/config/config.h"
#include "libfabmgr/base/status.h"
#include "testing.h"

static char dir[] = "/tmp/test-secrets-XXXXXX";

static const char *put(const char *name, const char *text, mode_t mode)
{
    static char path[100];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
    return path;
}

/* Loads these settings, with the test's directory in place of each %s. */
static int load(const char *settings, struct config *ret, char *why, size_t len)
{
    char text[400];
    why[0] = '\0';
    snprintf(text, sizeof(text), settings, dir, dir, dir, dir);
    return config_load_text(text, strlen(text), "f.yaml", ret, why, len);
}

START_TEST(each_key_can_stand_in_a_file)
{
    char why[600];
    struct config c;
    put("one", "0x1111\n", 0600);
    put("two", "8738", 0400);
    put("three", "0x3333 \r\n", 0600);
    put("four", "0x4444\n# whose key this is\n", 0600);
    int rc = load("subnet:\n  sm_key: file:%s/one\n  sa_key: file:%s/two\n  m_key: file:%s/three\n"
                  "congestion:\n  cc_key: file:%s/four\n",
                  &c, why, sizeof(why));
    ck_assert_msg(rc == FAB_OK, "%s", why);
    ck_assert_uint_eq(c.policy.sm_key, 0x1111);
    ck_assert_uint_eq(c.policy.sa_key, 0x2222);
    ck_assert_uint_eq(c.policy.m_keys.number, 0x3333);
    ck_assert(!c.m_key_generated && !c.m_key_derived);
    ck_assert_uint_eq(c.policy.congestion.key, 0x4444);
    ck_assert_ptr_null(c.key_in_file);
    config_fini(&c);
}
END_TEST

START_TEST(a_credential_of_systemd)
{
    char why[600];
    struct config c;
    /* mode 0440 is accepted for a credential of systemd, because other users cannot enter its
     * directory */
    put("sm", "0x77\n", 0440);
    ck_assert_int_eq(load("subnet: {sm_key: credential:sm}\n", &c, why, sizeof(why)), FAB_E_FORMAT);
    ck_assert_str_eq(why, "f.yaml:1:10: subnet.sm_key: systemd gave no credentials; add "
                          "LoadCredential=sm:PATH to the unit, or use file:PATH");
    setenv("CREDENTIALS_DIRECTORY", dir, 1);
    ck_assert_int_eq(load("subnet: {sm_key: credential:sm}\n", &c, why, sizeof(why)), FAB_OK);
    ck_assert_uint_eq(c.policy.sm_key, 0x77);
    config_fini(&c);
    ck_assert_int_eq(load("subnet: {sm_key: credential:none}\n", &c, why, sizeof(why)),
                     FAB_E_NOT_FOUND);
    const char *const names[] = {"", "..", "../one", "a/b"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char text[100];
        snprintf(text, sizeof(text), "subnet: {sm_key: 'credential:%s'}\n", names[i]);
        ck_assert_int_eq(load(text, &c, why, sizeof(why)), FAB_E_FORMAT);
        ck_assert_ptr_nonnull(strstr(why, "expected credential:NAME"));
    }
    unsetenv("CREDENTIALS_DIRECTORY");
}
END_TEST

/* Settings with an invalid value, or with a key file of an invalid content (`text`) or mode. The
 * error message must show neither the value nor the content. */
static const struct {
    const char *settings, *text;
    mode_t mode;
    int rc;
    const char *why; /* the message must contain this text */
} wrong[] = {
    {"subnet: {sm_key: file:%s/key}\n", "hunter2\n", 0600, FAB_E_FORMAT, "/key is not valid"},
    {"subnet: {m_key: file:%s/key}\n", "generated hunter2\n", 0600, FAB_E_FORMAT, "is not valid"},
    {"subnet: {m_key: file:%s/key}\n", "", 0600, FAB_E_FORMAT, "is not valid"},
    {"subnet: {m_key: file:%s/key}\n", " 0x2a\n", 0600, FAB_E_FORMAT, "is not valid"},
    {"subnet: {sm_key: file:%s/key}\n", "0x1\n", 0640, FAB_E_DENIED, "run 'chmod 600' on it"},
    {"subnet: {sm_key: file:%s/key}\n", "0x1\n", 0604, FAB_E_DENIED, "run 'chmod 600' on it"},
    {"subnet: {sm_key: file:%s/other}\n", "0x1\n", 0600, FAB_E_NOT_FOUND, "No such file"},
    {"congestion: {cc_key: hunter2}\n", "", 0600, FAB_E_FORMAT, "congestion.cc_key: expected"},
    {"subnet: {sa_key: hunter2}\n", "", 0600, FAB_E_FORMAT, "subnet.sa_key: expected"},
    {"subnet: {sm_key: derived}\n", "", 0600, FAB_E_FORMAT, "subnet.sm_key: expected"},
    {"congestion: {cc_key: derived}\n", "", 0600, FAB_E_FORMAT, "congestion.cc_key: expected"},
};

START_TEST(a_wrong_key_is_refused_and_not_shown)
{
    char why[600];
    struct config untouched = {.journal_keep = 4711}, c = untouched;
    put("key", wrong[_i].text, wrong[_i].mode);
    int rc = load(wrong[_i].settings, &c, why, sizeof(why));
    ck_assert_msg((rc == wrong[_i].rc || rc == FAB_E_INVAL) && strstr(why, wrong[_i].why) != NULL,
                  "%d: %s", rc, why);
    ck_assert_ptr_null(strstr(why, "hunter2"));
    ck_assert_mem_eq(&c, &untouched, sizeof(c));
}
END_TEST

/* A settings file that others can read is refused if it has a key as a number. */
START_TEST(settings_with_a_key_must_be_private)
{
    static const struct {
        const char *text, *key;
    } settings[] = {
        {"subnet: {sm_key: 0x2}\n", "subnet.sm_key"},
        {"subnet: {sm_key: 1}\n", NULL},
        {"subnet: {sa_key: 0x2}\n", "subnet.sa_key"},
        {"subnet: {sa_key: 0}\n", NULL},
        {"subnet: {m_key: 1, sm_key: 2}\n", "subnet.sm_key"},
        {"subnet: {m_key: 1}\n", "subnet.m_key"},
        {"subnet: {m_key: 0}\n", NULL},
        {"subnet: {m_key: generated}\n", NULL},
        {"congestion: {cc_key: 1}\n", "congestion.cc_key"},
        {"congestion: {cc_key: generated}\n", NULL},
    };
    static const mode_t modes[] = {0600, 0640, 0660, 0604, 0602, 0644};
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
        for (size_t j = 0; j < sizeof(modes) / sizeof(*modes); j++) {
            struct config untouched = {.journal_keep = 4711}, c = untouched;
            char why[600] = "", expected[300];
            const char *path = put("fabricd.yaml", settings[i].text, modes[j]);
            int rc = config_load(path, &c, why, sizeof(why));
            if (settings[i].key == NULL || (modes[j] & S_IRWXO) == 0) {
                ck_assert_msg(rc == FAB_OK, "%s", why);
                config_fini(&c);
                continue;
            }
            ck_assert_int_eq(rc, FAB_E_DENIED);
            snprintf(expected, sizeof(expected), "has the key %s; run 'chmod o= %s', or",
                     settings[i].key, path);
            ck_assert_msg(strstr(why, expected) != NULL, "%s", why);
            ck_assert_mem_eq(&c, &untouched, sizeof(c));
        }
}
END_TEST

int main(void)
{
    if (mkdtemp(dir) == NULL)
        return 1;
    unsetenv("CREDENTIALS_DIRECTORY");
    Suite *suite = suite_create("secrets");
    TCase *tcase = tcase_create("secrets");
    tcase_add_test(tcase, each_key_can_stand_in_a_file);
    tcase_add_test(tcase, a_credential_of_systemd);
    tcase_add_loop_test(tcase, a_wrong_key_is_refused_and_not_shown, 0,
                        (int)(sizeof(wrong) / sizeof(*wrong)));
    tcase_add_test(tcase, settings_with_a_key_must_be_private);
    suite_add_tcase(suite, tcase);
    int rc = test_run(suite);
    char command[100];
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command) == 0 ? rc : 1;
}
