/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/base/job_list.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "libfabmgr/base/status.h"

#define SPACE " \t\r\n"

/* A word of a line. */
struct word {
    const char *at;
    size_t len;
};

/* Sets *w to the next word of its line. Returns false if *w was the last one. */
static bool next_word(struct word *w)
{
    w->at += w->len;
    w->at += strspn(w->at, SPACE);
    w->len = strcspn(w->at, SPACE);
    return w->len > 0 && w->at[0] != '#';
}

/* If the word has the form "KEY=VALUE" with the key `key`, sets *ret to the value and returns true;
 * otherwise returns false. */
static bool value_of(struct word w, const char *key, struct word *ret)
{
    size_t len = strlen(key);
    if (w.len <= len || strncmp(w.at, key, len) != 0 || w.at[len] != '=')
        return false;
    *ret = (struct word){w.at + len + 1, w.len - len - 1};
    return true;
}

/* Returns true if the word in the place of the hosts is a list of hosts. A pending job has another
 * word in this place: "(Priority)", "(null)", "None" or "n/a". */
static bool has_hosts(struct word w)
{
    return w.len > 0 && w.at[0] != '(' && w.at[w.len - 1] != ')' &&
           !(w.len == 4 && strncasecmp(w.at, "None", 4) == 0) &&
           !(w.len == 3 && strncasecmp(w.at, "n/a", 3) == 0);
}

static int take(const char *id, size_t id_len, struct word hosts, struct fab_job_line *ret,
                bool *ret_found)
{
    if (id_len >= FAB_JOB_ID_LEN)
        return FAB_E_FORMAT;
    snprintf(ret->id, sizeof ret->id, "%.*s", (int)id_len, id);
    ret->hosts = hosts.at;
    ret->hosts_len = (int)hosts.len;
    *ret_found = true;
    return FAB_OK;
}

/* Reads a line in the format of scontrol. */
static int read_keys(struct fab_job_reader *r, const char *line, struct fab_job_line *ret,
                     bool *ret_found)
{
    struct word w = {line, 0}, value;
    while (next_word(&w)) {
        if (value_of(w, "JobId", &value)) {
            if (value.len >= sizeof r->job)
                return FAB_E_FORMAT;
            snprintf(r->job, sizeof r->job, "%.*s", (int)value.len, value.at);
        } else if (value_of(w, "NodeList", &value) && r->job[0] != '\0' && has_hosts(value)) {
            return take(r->job, strlen(r->job), value, ret, ret_found);
        }
    }
    return FAB_OK;
}

/* Reads a line in columns, as squeue prints them. */
static int read_columns(const char *line, struct fab_job_line *ret, bool *ret_found)
{
    struct word w = {line, 0}, first = {0}, last = {0};
    unsigned count = 0;
    for (; next_word(&w); count++) {
        first = count == 0 ? w : first;
        last = w;
    }
    if (count == 0 || (first.len == 5 && strncasecmp(first.at, "JOBID", 5) == 0) ||
        (count > 1 && !has_hosts(last)))
        return FAB_OK;
    return count > 1 ? take(first.at, first.len, last, ret, ret_found) : FAB_E_FORMAT;
}

int fab_base_job_list_line(struct fab_job_reader *r, const char *line, struct fab_job_line *ret,
                           bool *ret_found)
{
    struct word first = {line, 0}, value;
    *ret_found = false;
    bool some = next_word(&first);
    if (some && (r->job[0] != '\0' || value_of(first, "JobId", &value)))
        return read_keys(r, line, ret, ret_found);
    return read_columns(line, ret, ret_found);
}
