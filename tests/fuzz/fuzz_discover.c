/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes a discovery by its answers. The first byte selects a full or targeted discovery, and the
 * number of requests in flight. Each further record is the result of one request: the outcome, the
 * number of the request, and 64 bytes of attribute. When the input ends, the remaining requests
 * time out.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/fabric/generate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORD = 2 + FAB_SMP_DATA, WINDOW = 16, NODES = 64, PORTS = 2000 };
/* Maximum number of requests of a discovery of this fabric. A discovery that sends more would never
 * end. */
#define QUESTIONS (3 * NODES + 3 * PORTS)

static struct fab_fabric *new_base(void)
{
    struct fab_random_spec spec = {.switches = 4, .degree = 3, .hosts_per_switch = 1, .seed = 4};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    if (fab_fabric_generate_random(&spec, &b) == 0) {
        fab_fabric_builder_set_self(b, 0, 0);
        (void)fab_fabric_builder_seal(b, &f);
    }
    fab_fabric_builder_free(b);
    return f;
}

static int answer(struct fab_discover *d, uint64_t tag, const uint8_t **data, size_t *size)
{
    uint8_t record[RECORD] = {0};
    size_t take = *size < RECORD ? *size : RECORD;
    memcpy(record, *data, take);
    *data += take;
    *size -= take;
    int status = take == 0 || record[0] % 8 == 1 ? FAB_E_TIMEOUT
                 : record[0] % 8 == 2            ? FAB_E_REFUSED
                                                 : FAB_OK;
    return fab_discover_answer(d, tag, status, record + 2);
}

static void drive(struct fab_discover *d, const uint8_t *data, size_t size, unsigned window)
{
    uint64_t tags[WINDOW], asked = 0;
    unsigned waiting = 0;
    struct fab_discover_ask ask;
    for (;;) {
        while (waiting < window && fab_discover_next(d, &ask)) {
            if (ask.path->hops > FAB_MAX_HOPS || ++asked > QUESTIONS)
                abort();
            tags[waiting++] = ask.tag;
        }
        if (waiting == 0)
            break;
        unsigned pick = size > 1 ? data[1] % waiting : 0;
        uint64_t tag = tags[pick];
        tags[pick] = tags[--waiting];
        if (answer(d, tag, &data, &size) != FAB_OK)
            break;
    }
}

static void check(struct fab_discover *d)
{
    struct fab_fabric *f = NULL;
    uint32_t count;
    (void)fab_discover_unresponsive(d, &count);
    if (!fab_discover_done(d))
        abort();
    if (fab_discover_result(d, &f) == FAB_OK && f->node_count > NODES)
        abort();
    for (uint32_t p = 0; f != NULL && p < f->port_count; p++)
        if (fab_fabric_port(f, p)->peer != FAB_NONE &&
            fab_fabric_port(f, fab_fabric_port(f, p)->peer)->peer != p)
            abort();
    fab_fabric_unref(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_fabric *known = new_base(), *base = size > 0 && data[0] & 1 ? known : NULL;
    struct fab_places *places = NULL;
    uint64_t suspects[3] = {0};
    if (size > 0 && data[0] & 0x80 && fab_discover_places_of(known, NULL, &places) != FAB_OK)
        abort();
    struct fab_discover_config config = {.base = base,
                                         .suspects = suspects,
                                         .places = places,
                                         .node_limit = NODES,
                                         .port_limit = PORTS};
    struct fab_discover *d = NULL;
    for (uint32_t i = 0; base != NULL && i < 3; i++)
        suspects[config.suspect_count++] = base->nodes[i].guid;
    unsigned window = size > 0 ? 1 + data[0] / 2 % WINDOW : 1;
    if (fab_discover_new(&config, &d) == FAB_OK) {
        drive(d, data + (size > 0), size - (size > 0), window);
        check(d);
    }
    fab_discover_free(d);
    fab_discover_places_unref(places);
    fab_fabric_unref(known);
    return 0;
}
