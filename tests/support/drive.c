/* SPDX-License-Identifier: BSD-3-Clause */
/* See drive.h. */
#include "tests/support/drive.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

static void count(struct drive *r, uint16_t attr_id)
{
    r->asked++;
    r->node_infos += attr_id == FAB_ATTR_NODE_INFO;
    r->node_descs += attr_id == FAB_ATTR_NODE_DESC;
    r->switch_infos += attr_id == FAB_ATTR_SWITCH_INFO;
    r->port_infos += attr_id == FAB_ATTR_PORT_INFO;
}

int drive_smp(struct drive *r, const struct fab_path *path, uint8_t method, uint16_t attr_id,
              uint32_t attr_mod, uint8_t data[FAB_SMP_DATA])
{
    struct fab_mad header = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                             .method = method,
                             .tid = r->asked,
                             .attr_id = attr_id,
                             .attr_mod = attr_mod,
                             .directed = true,
                             .path = *path};
    uint8_t mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    const uint8_t *at;
    size_t len;
    if (fab_smp_pack(&header, data, mad) != FAB_OK)
        return -1;
    for (uint32_t try = 0; try == 0 || try < r->tries; try++) {
        if (fab_sim_send(r->sim, r->node, r->port, 0xffff, mad, reply) != 1)
            continue;
        if (fab_mad_unpack(reply, sizeof reply, &header, &at, &len) != FAB_OK)
            return -1;
        memcpy(data, at, FAB_SMP_DATA);
        return header.status;
    }
    return -1;
}

static void answer(struct drive *r, const struct fab_discover_ask *ask, struct drive_answer *a)
{
    memset(a->data, 0, sizeof a->data);
    a->ask = *ask;
    int status = drive_smp(r, ask->path, FAB_METHOD_GET, ask->attr_id, ask->attr_mod, a->data);
    a->status = status == 0 ? FAB_OK : status < 0 ? FAB_E_TIMEOUT : FAB_E_REFUSED;
    if (r->mangle != NULL)
        r->mangle(r->ctx, a);
}

int drive(struct drive *r, struct fab_discover *d)
{
    uint32_t window = r->window ? r->window : 64, waiting = 0, head = 0;
    struct drive_answer *answers = calloc(window, sizeof *answers), one;
    struct fab_prng prng;
    struct fab_discover_ask ask;
    int status = answers != NULL ? FAB_OK : FAB_E_NOMEM;
    fab_prng_init(&prng, r->seed);
    while (status == FAB_OK) {
        while (waiting < window && fab_discover_next(d, &ask)) {
            count(r, ask.attr_id);
            answer(r, &ask, &answers[(head + waiting++) % window]);
        }
        if (waiting == 0 || (r->limit != 0 && r->asked > r->limit))
            break;
        uint32_t pick = r->shuffle ? (uint32_t)fab_prng_below(&prng, waiting) : 0;
        one = answers[(head + pick) % window];
        answers[(head + pick) % window] = answers[head];
        head = (head + 1) % window;
        waiting--;
        status = fab_discover_answer(d, one.ask.tag, one.status, one.data);
    }
    free(answers);
    return status != FAB_OK ? status : waiting > 0 ? FAB_E_LIMIT : FAB_OK;
}

int drive_whole(struct drive *r, struct fab_fabric **ret_fabric)
{
    struct fab_discover_config config = {0};
    struct fab_discover *d = NULL;
    int status = fab_discover_new(&config, &d);
    if (status == FAB_OK)
        status = drive(r, d);
    if (status == FAB_OK)
        status = fab_discover_done(d) ? fab_discover_result(d, ret_fabric) : FAB_E_BUSY;
    fab_discover_free(d);
    return status;
}

void drive_sit(struct drive *r)
{
    const struct fab_fabric *f = fab_sim_fabric(r->sim);
    for (uint32_t p = 0; p < f->port_count; p++) {
        if (!fab_node_is_switch(f, f->ports[p].node) && f->ports[p].peer != FAB_NONE) {
            r->node = f->ports[p].node;
            r->port = f->ports[p].num;
            return;
        }
    }
    r->node = 0;
    r->port = 0;
}
