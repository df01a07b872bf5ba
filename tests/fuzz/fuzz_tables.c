/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes dumps of forwarding tables. Any input is refused with a line and column, or gives valid
 * tables. */
#include <assert.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_switch(const struct fab_tables *t, const struct fab_policy_tables_switch *sw)
{
    assert(sw->guid != 0 && sw->first <= t->entries && sw->count <= t->entries - sw->first);
    assert(fab_policy_tables_switch(t, sw->guid) == sw);
    for (size_t i = 0; i < sw->count; i++) {
        const struct fab_tables_entry *e = &t->entry[sw->first + i];
        assert(e->lid > 0 && e->lid <= t->top && (i == 0 || e[-1].lid < e->lid));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_tables *t = NULL;
    struct fab_tables_error error = {.line = 0};
    int status = fab_policy_tables_read((const char *)data, size, &t, &error);
    if (status != FAB_OK) {
        assert(t == NULL);
        assert(status == FAB_E_NOMEM || (status == FAB_E_FORMAT && error.line > 0 &&
                                         error.column > 0 && error.message[0] != '\0'));
        return 0;
    }
    assert(t->switches > 0 && t->top <= FAB_TABLES_LID_MAX);
    for (size_t i = 0; i < t->switches; i++)
        check_switch(t, &t->sw[i]);
    for (uint32_t lid = 1; lid <= t->top; lid++)
        assert(t->first[lid] > 0 && t->first[lid] <= lid && t->guid[t->first[lid]] == t->guid[lid]);
    fab_policy_tables_unref(t);
    return 0;
}
