/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes lists of hosts and of jobs. Any list is refused or expanded to a limited number of names.
 * The names are folded to a list, and this list is expanded; the result must be the same names in
 * the same order. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/host_list.h"
#include "libfabmgr/base/job_list.h"
#include "libfabmgr/base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAMES 200

struct names {
    char *name[NAMES];
    size_t count;
    bool plain; /* no name has a bracket or comma, so that the names can be folded */
};

static int collect(void *ctx, const char *name)
{
    struct names *n = ctx;
    assert(strlen(name) < 256);
    if (n->count == NAMES)
        return FAB_E_LIMIT;
    n->plain = n->plain && strpbrk(name, "[],") == NULL && name[0] != '\0';
    n->name[n->count++] = strdup(name);
    return FAB_OK;
}

static void forget(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    *n = (struct names){.plain = true};
}

/* Expands each item of the list, and adds the names to ret. */
static void expand(const char *list, struct names *ret)
{
    for (const char *c = list;; c++) {
        size_t len = fab_base_host_list_item(c);
        char *item = strndup(c, len);
        if (len > 0)
            (void)fab_base_host_list_each(item, collect, ret);
        free(item);
        c += len;
        if (*c == '\0')
            return;
    }
}

static void check_list(const char *text)
{
    struct names names = {.plain = true}, again = {.plain = true};
    struct fab_text t = {0};
    expand(text, &names);
    if (names.plain) {
        fab_base_host_list_fold((const char *const *)names.name, names.count, &t);
        expand(fab_base_text_get(&t), &again);
        assert(again.count == names.count);
        for (size_t i = 0; i < names.count; i++)
            assert(strcmp(again.name[i], names.name[i]) == 0);
    }
    forget(&names);
    forget(&again);
    fab_base_text_fini(&t);
}

static void check_jobs(char *text)
{
    struct fab_job_reader r = {.job = ""};
    for (char *line = text, *end; line != NULL; line = end != NULL ? end + 1 : NULL) {
        struct fab_job_line job;
        bool found;
        end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        if (fab_base_job_list_line(&r, line, &job, &found) == FAB_OK && found) {
            assert(job.id[0] != '\0' && job.hosts_len > 0 && job.hosts >= line);
            assert(job.hosts + job.hosts_len <= line + strlen(line));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    check_list(text);
    check_jobs(text);
    free(text);
    return 0;
}
