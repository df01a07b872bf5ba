/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes files in the format of OpenSM's guid2lid. Any input is refused with the number of a line,
 * or gives ranges of LIDs that do not overlap. */
#include <assert.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/lid_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_lid_list *l = NULL;
    struct fab_line_error error = {.line = 0};
    int status = fab_policy_lid_list_read((const char *)data, size, &l, &error);
    if (status != FAB_OK) {
        assert(l == NULL);
        assert(status == FAB_E_NOMEM ||
               (status == FAB_E_FORMAT && error.line > 0 && error.message[0] != '\0'));
        return 0;
    }
    for (size_t i = 0; i < l->count; i++) {
        const struct fab_listed_lid *e = &l->entry[i];
        assert(e->port_guid != 0 && e->lid > 0 && e->lmc <= 7 && e->lid % (1u << e->lmc) == 0);
        assert(e->lid + (1u << e->lmc) - 1 <= FAB_LID_LIST_LID_MAX);
        assert(i == 0 || e[-1].port_guid < e->port_guid);
        assert(fab_policy_lid_list_find(l, e->port_guid) == e);
    }
    assert(fab_policy_lid_list_same(l, l));
    fab_policy_lid_list_unref(l);
    return 0;
}
