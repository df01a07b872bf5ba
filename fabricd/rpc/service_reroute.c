/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListReroutes and GetReroute. The newest reroutes are in the manager's memory, and
 * older reroutes in the store.
 */
#include <inttypes.h>

#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"

struct rows {
    /* [want] the reroutes of the page, newest first */
    struct reroute *row;
    uint32_t count, want;
};

static void take(void *ctx, const struct reroute *r)
{
    struct rows *rows = ctx;
    if (rows->count < rows->want)
        rows->row[rows->count++] = *r;
}

/* Collects the reroutes whose generations are lower than `before`, newest first; before == 0: all
 * reroutes. */
static void collect(struct rpc *r, uint64_t before, struct rows *rows)
{
    rows->count = sm_reroutes(r->in.sm, before, rows->row, rows->want);
    if (rows->count > 0)
        before = rows->row[rows->count - 1].generation;
    if (rows->count < rows->want && r->in.store != NULL && before != 1)
        store_reroutes(r->in.store, before, rows->want - rows->count, take, rows);
}

void list_reroutes(struct call *c, const void *request)
{
    const Fabric__V1__ListReroutesRequest *q = request;
    Fabric__V1__ListReroutesResponse m = FABRIC__V1__LIST_REROUTES_RESPONSE__INIT;
    struct answer a = {0};
    struct page_key key = {0};
    bool given;
    if (page_parse('r', q->page_token, &key, &given) < 0 || key.number > INT64_MAX) {
        refuse_token(c, q->page_token);
        return;
    }
    struct rows rows = {.want = page_size(q->page_size)};
    rows.row = answer_alloc(&a, rows.want, sizeof *rows.row);
    m.reroutes = answer_alloc(&a, rows.want, sizeof *m.reroutes);
    if (rows.row != NULL && m.reroutes != NULL)
        collect(call_rpc(c), key.number, &rows);
    for (uint32_t i = 0; i < rows.count; i++)
        m.reroutes[m.n_reroutes++] = convert_reroute(&a, &rows.row[i]);
    if (rows.count == rows.want && rows.count > 0) {
        key = (struct page_key){.list = 'r', .number = rows.row[rows.count - 1].generation};
        m.next_page_token = page_token(&a, &key);
    }
    answer_reply(&a, c, &m.base);
}

void get_reroute(struct call *c, const void *request)
{
    const Fabric__V1__GetRerouteRequest *q = request;
    Fabric__V1__GetRerouteResponse m = FABRIC__V1__GET_REROUTE_RESPONSE__INIT;
    struct answer a = {0};
    struct reroute found;
    struct rows rows = {.row = &found, .want = 1};
    uint64_t before = q->generation < INT64_MAX ? q->generation + 1 : 1;
    if (before > 1)
        collect(call_rpc(c), before, &rows);
    if (rows.count == 0 || found.generation != q->generation) {
        call_finish(c, FAB_GRPC_NOT_FOUND,
                    "no reroute %" PRIu64 " is recorded; 'fabricctl reroute list' lists them",
                    q->generation);
        return;
    }
    m.reroute = convert_reroute(&a, &found);
    answer_reply(&a, c, &m.base);
}
