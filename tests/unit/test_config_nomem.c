/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the settings file while allocations fail. The error message must say that memory ran out,
 * and name the file. */
#include <string.h>

#include "fabricd/config/config.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

#include "tests/unit/failing_alloc.h"

static const char text[] =
    "listen: [unix:/tmp/a.sock, 'tls:[fe80::1]:1']\n"
    "tls: {cert: /c, key: /k, ca: /a}\n"
    "metrics: {listen: '[::1]:9471', ports: switches, names: treydock, max_series: 5}\n"
    "alerts: [{webhook: 'https://h/p', ca: /x, types: ['link-*']}]\n"
    "routing: {engine: 'fattree, updn', roots: [0x0002c90300000001]}\n"
    "congestion: {table: [0, 0x8002]}\n"
    "qos: {classes: [{name: storage, share: 40, match: [pkey=1, to=a]}]}\n";

/* the C library's strdup() and strndup() call its own malloc() and not the wrapped one */
char *__wrap_strdup(const char *from);
char *__wrap_strndup(const char *from, size_t most);

char *__wrap_strndup(const char *from, size_t most)
{
    size_t len = strnlen(from, most);
    char *to = malloc(len + 1);
    if (to != NULL) {
        memcpy(to, from, len);
        to[len] = '\0';
    }
    return to;
}

char *__wrap_strdup(const char *from)
{
    return __wrap_strndup(from, strlen(from));
}

static bool well_said = true;

static int load(void)
{
    struct config c;
    char why[300] = "";
    int status = config_load_text(text, sizeof(text) - 1, "f.yaml", &c, why, sizeof(why));
    if (status == FAB_OK)
        config_fini(&c);
    else
        well_said &= strcmp(why, "f.yaml: out of memory") == 0;
    return status;
}

START_TEST(each_allocation_may_fail)
{
    uint64_t allocations = fail_each_allocation(load, FAB_E_NOMEM);
    ck_assert_uint_gt(allocations, 5);
    ck_assert(well_said);
}
END_TEST

int main(void)
{
    unsetenv("STATE_DIRECTORY");
    unsetenv("RUNTIME_DIRECTORY");
    Suite *suite = suite_create("config without memory");
    TCase *tcase = tcase_create("memory");
    tcase_add_test(tcase, each_allocation_may_fail);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
