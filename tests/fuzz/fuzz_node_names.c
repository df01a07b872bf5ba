/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes node-name-maps. Any input is refused with the number of a line, or gives names that are
 * not empty. */
#include <assert.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/node_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_node_names *n = NULL;
    struct fab_node_names_error error = {.line = 0};
    int status = fab_policy_node_names_read((const char *)data, size, &n, &error);
    if (status != FAB_OK) {
        assert(n == NULL);
        assert(status == FAB_E_NOMEM ||
               (status == FAB_E_FORMAT && error.line > 0 && error.message[0] != '\0'));
        return 0;
    }
    assert(fab_policy_node_names_count(n) <= FAB_NODE_NAMES_MAX);
    assert(fab_policy_node_names_same(n, n) && fab_policy_node_names_find(n, 0) == NULL);
    const char *name = fab_policy_node_names_find(n, 0x0002c902400111aa);
    assert(name == NULL || (name[0] != '\0' && strlen(name) < FAB_NODE_NAME_LEN));
    fab_policy_node_names_unref(n);
    return 0;
}
