/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes topology files. Any input is refused or gives a valid fabric. The fabric is written to a
 * file and read again, and must have the same nodes and links.
 */
#include <assert.h>
#include <stdlib.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sound(const struct fab_fabric *f)
{
    uint32_t links = 0;
    for (uint32_t i = 0; i < f->port_count; i++) {
        const struct fab_port *p = fab_fabric_port(f, i);
        assert(p->node < f->node_count);
        assert(i == fab_fabric_port_id(f, p->node, p->num));
        assert(p->peer == FAB_NONE || fab_fabric_port(f, p->peer)->peer == i);
        links += p->peer != FAB_NONE && p->peer > i;
    }
    assert(links == f->link_count);
}

static struct fab_fabric *read_text(const char *text, size_t len, int *ret_status)
{
    struct fab_builder *b = NULL;
    struct fab_text_error error;
    struct fab_fabric *f = NULL;
    *ret_status = fab_fabric_text_read(text, len, &b, &error);
    assert(*ret_status == FAB_OK || *ret_status == FAB_E_NOMEM ||
           (*ret_status == FAB_E_FORMAT && error.line > 0 && error.column > 0 &&
            error.message[0] != '\0'));
    if (*ret_status == FAB_OK)
        *ret_status = fab_fabric_builder_seal(b, &f);
    fab_fabric_builder_free(b);
    return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = NULL;
    size_t len = 0;
    int status;
    struct fab_fabric *f = read_text((const char *)data, size, &status), *again = NULL;
    if (f == NULL)
        return 0;
    check_sound(f);
    if (fab_fabric_text_write(f, &text, &len) == FAB_OK) {
        again = read_text(text, len, &status);
        assert(status != FAB_E_FORMAT);
        assert(again == NULL ||
               (again->node_count == f->node_count && again->link_count == f->link_count));
    }
    free(text);
    fab_fabric_unref(again);
    fab_fabric_unref(f);
    return 0;
}
