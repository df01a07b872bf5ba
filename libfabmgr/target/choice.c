/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/target/choice.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fab_choice *fab_target_choice_new(void)
{
    struct fab_choice *c = calloc(1, sizeof(*c));
    if (c != NULL)
        c->refs = 1;
    return c;
}

struct fab_choice *fab_target_choice_ref(const struct fab_choice *c)
{
    /* casts const away, because the reference count is not part of the sealed value */
    struct fab_choice *counted = (struct fab_choice *)c;
    if (counted != NULL)
        __atomic_add_fetch(&counted->refs, 1, __ATOMIC_RELAXED);
    return counted;
}

void fab_target_choice_unref(struct fab_choice *c)
{
    if (c == NULL)
        return;
    int left = __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL);
    assert(left >= 0);
    if (left == 0)
        free(c);
}

struct fab_choice_row *fab_target_choice_add(struct fab_choice *c, const char *engine,
                                             enum fab_choice_outcome outcome, const char *why)
{
    struct fab_choice_row *row = &c->row[c->count - (c->count == FAB_CHOICE_ROWS)];
    c->count += c->count < FAB_CHOICE_ROWS;
    *row = (struct fab_choice_row){.outcome = outcome};
    snprintf(row->engine, sizeof(row->engine), "%s", engine);
    snprintf(row->why, sizeof(row->why), "%s", why);
    return row;
}

const struct fab_choice_row *fab_target_choice_taken(const struct fab_choice *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->row[i].outcome == FAB_CHOICE_TAKEN)
            return &c->row[i];
    }
    return NULL;
}

static bool has_tables(const struct fab_choice_row *row)
{
    return row->outcome == FAB_CHOICE_TAKEN || row->outcome == FAB_CHOICE_NOT_BETTER;
}

/* Returns the number of engines with usable tables. An engine whose tables were improved by local
 * search has two rows, but counts once. */
static uint32_t count_engines(const struct fab_choice *c)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count; i++)
        count += has_tables(&c->row[i]) && !c->row[i].searched;
    return count;
}

void fab_target_choice_sentence(const struct fab_choice *c, char *ret, size_t len)
{
    const struct fab_choice_row *taken = fab_target_choice_taken(c);
    uint32_t engines = count_engines(c);
    if (taken == NULL) {
        snprintf(ret, len, "no engine has made tables that pass the proof");
        return;
    }
    size_t used = (size_t)snprintf(ret, len, "%s", taken->why);
    if (engines > 1 && used < len)
        used += (size_t)snprintf(ret + used, len - used, "%sthe best tables of %u engines",
                                 used > 0 ? "; " : "", engines);
    if (taken->searched && used < len)
        snprintf(ret + used, len - used, "%simproved by local search",
                 used > 0 && engines < 2 ? "; "
                 : used > 0              ? ", "
                                         : "");
}

void fab_target_choice_rejected(const struct fab_choice *c, char *ret, size_t len)
{
    size_t used = 0;
    ret[0] = '\0';
    for (uint32_t i = 0; i < c->count && used < len; i++) {
        if (!has_tables(&c->row[i]))
            used += (size_t)snprintf(ret + used, len - used, "%s%s: %s", used > 0 ? "; " : "",
                                     c->row[i].engine, c->row[i].why);
    }
}
