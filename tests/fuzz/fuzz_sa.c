/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes requests to subnet administration of a small fabric. The bytes are used in four ways:
 * - as a request of a trusted and of an untrusted requester, for one record and for tables;
 * - as every kind of record;
 * - as RMPP headers, one after the other, for both ends of a transfer;
 * - as faults of the MADs between these two ends.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/mads/rmpp.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/sa/sa.h"
#include "tests/unit/rmpp_receiver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct fab_sa *small_fabric(void)
{
    struct fab_leaf_spine_spec spec = {
        .leaves = 2, .spines = 2, .hosts_per_leaf = 2, .parallel = 1};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    struct fab_policy p;
    struct fab_verdict verdict = {0};
    struct fab_target *t = fab_target_new();
    struct fab_address_note *notes = NULL;
    struct fab_sa *sa = NULL;
    size_t count;
    char why[200];
    must(t != NULL && fab_fabric_generate_leaf_spine(&spec, &b) == 0 &&
         fab_fabric_builder_seal(b, &f) == 0);
    fab_fabric_builder_free(b);
    fab_policy_defaults(&p);
    p.lmc = 1;
    must(fab_address_assign(&(struct fab_address_input){.fabric = f, .policy = &p}, &t->lids,
                            &notes, &count) == 0);
    free(notes);
    must(fab_route_engine_by_name("updn")->run(
             &(struct fab_route_input){.fabric = f, .policy = &p, .lids = &t->lids}, &t->lft,
             &t->vls, why, sizeof why) == 0);
    struct fab_view *v = fab_view_new(1, f, t, &p, &verdict);
    must(v != NULL && fab_sa_new(v, &sa) == 0);
    fab_view_unref(v);
    return sa;
}

static void try_request(struct fab_sa *sa, const uint8_t *mad, bool trusted)
{
    struct fab_sa_request req;
    struct fab_sa_query q;
    uint8_t answer[FAB_MAD_SIZE], record[FAB_REC_MAX];
    uint64_t key;
    uint32_t budget = 4096;
    if (fab_sa_request_read(mad, FAB_MAD_SIZE, &req, &key) != 0)
        return;
    req.trusted = trusted;
    req.from = FAB_SA_ANYBODY;
    (void)fab_sa_get(sa, mad, &req, 1000, answer);
    must((answer[3] & 0x80) != 0);
    if (fab_sa_begin(sa, &req, &q) == 0)
        while (fab_sa_next(&q, &budget, record) == 0)
            must(fab_wire_rec_stride(q.rec) <= FAB_REC_MAX);
}

static void try_requests(const uint8_t *data, size_t size)
{
    static struct fab_sa *sa;
    uint8_t mad[FAB_MAD_SIZE] = {0};
    if (sa == NULL)
        sa = small_fabric();
    memcpy(mad, data, size < sizeof mad ? size : sizeof mad);
    mad[0] = 1;
    mad[1] = FAB_CLASS_SA;
    mad[2] = 2;
    try_request(sa, mad, false);
    try_request(sa, mad, true);
}

static void try_records(const uint8_t *data, size_t size)
{
    _Alignas(8) uint8_t once[512], twice[512];
    uint8_t bytes[FAB_REC_MAX];
    for (size_t i = 0; i < FAB_RECS; i++) {
        const struct fab_rec *r = fab_wire_recs[i];
        must(r->struct_size <= sizeof once);
        if (fab_wire_rec_unpack(r, data, size, once) != 0)
            continue;
        must(fab_wire_rec_pack(r, once, bytes, sizeof bytes) == 0);
        must(fab_wire_rec_unpack(r, bytes, sizeof bytes, twice) == 0);
        for (size_t p = 0; p < r->part_count; p++)
            must(fab_wire_attr_diff(r->parts[p].attr, once + r->parts[p].member,
                                    twice + r->parts[p].member) == NULL);
    }
}

static void try_rmpp(const uint8_t *data, size_t size)
{
    static const uint8_t payload[3000], head[FAB_SA_DATA];
    const struct rmpp_receiver_config config = {
        .window = 4, .sender = {.timeout_us = 10, .retries = 3}, .limit = 4096};
    struct fab_rmpp_sender s;
    struct rmpp_receiver r;
    uint8_t mad[FAB_MAD_SIZE] = {1, FAB_CLASS_SA, 2, 0x92}, out[FAB_MAD_SIZE];
    uint64_t now = 0;
    must(fab_mads_rmpp_sender_init(&s, head, payload, sizeof payload, &config.sender, now) == 0);
    rmpp_receiver_init(&r, &config, now);
    for (; size >= 12; data += 12, size -= 12, now += 3) {
        uint32_t sent = 0;
        memcpy(mad + FAB_RMPP_AT, data, 12);
        fab_mads_rmpp_sender_input(&s, now, mad);
        (void)rmpp_receiver_input(&r, now, mad, out);
        while (fab_mads_rmpp_sender_output(&s, now, out))
            must(++sent <= s.segments + 1);
        fab_mads_rmpp_sender_expire(&s, now);
        rmpp_receiver_expire(&r, now);
        must(r.len <= config.limit && s.acked <= s.segments);
    }
    rmpp_receiver_fini(&r);
}

/* What happens to a MAD of an RMPP transfer: it arrives, it is lost, it arrives twice, or it
 * arrives with one wrong byte in its RMPP header. A byte of the input selects this; the next byte
 * of the input is the wrong byte. */
enum meeting { ARRIVES, LOST, TWICE, SPOILT, MEETINGS };
struct wire {
    const uint8_t *data;
    size_t left;
};

static uint8_t next_byte(struct wire *w)
{
    if (w->left == 0)
        return 0;
    w->left--;
    return *w->data++;
}

/* Applies the fault to the MAD that the next byte of the input selects. Returns how many copies of
 * the MAD arrive. */
static unsigned meet(struct wire *w, uint8_t mad[FAB_MAD_SIZE])
{
    uint8_t what = next_byte(w);
    if (what % MEETINGS == SPOILT)
        mad[FAB_RMPP_AT + (what / MEETINGS) % 12] = next_byte(w);
    return what % MEETINGS == LOST ? 0 : what % MEETINGS == TWICE ? 2 : 1;
}

/* Runs both ends of a transfer with the faults that the bytes select. If the transfer completes
 * without corrupted MADs, the receiver must have what was sent. */
static void try_transfer(const uint8_t *data, size_t size)
{
    static const uint8_t head[FAB_SA_DATA] = {1, FAB_CLASS_SA, 2, 0x92};
    struct wire w = {data, size};
    uint8_t payload[2000], mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    size_t len = (size_t)next_byte(&w) * 8 % (sizeof payload - 100);
    const struct rmpp_receiver_config config = {.window = 1u + next_byte(&w) % 8,
                                                .sender = {.timeout_us = 10, .retries = 3},
                                                .limit = 3000};
    struct fab_rmpp_sender s;
    struct rmpp_receiver r;
    uint64_t now = 0;
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 7 + i / 256);
    must(fab_mads_rmpp_sender_init(&s, head, payload, len, &config.sender, now) == 0);
    rmpp_receiver_init(&r, &config, now);
    for (unsigned turn = 0; turn < 200 && (w.left > 0 || turn < 20); turn++, now += 4) {
        while (fab_mads_rmpp_sender_output(&s, now, mad))
            for (unsigned n = meet(&w, mad); n > 0; n--)
                if (rmpp_receiver_input(&r, now, mad, reply))
                    for (unsigned k = meet(&w, reply); k > 0; k--)
                        fab_mads_rmpp_sender_input(&s, now, reply);
        fab_mads_rmpp_sender_expire(&s, now);
        rmpp_receiver_expire(&r, now);
        must(r.len <= config.limit && s.acked <= s.segments);
    }
    if (size == 2) /* no byte selects a fault */
        must(r.state == FAB_RMPP_DONE && s.state == FAB_RMPP_DONE && r.len == len &&
             (len == 0 || memcmp(r.data, payload, len) == 0));
    rmpp_receiver_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_transfer(data, size);
    try_requests(data, size);
    try_records(data, size);
    try_rmpp(data, size);
    return 0;
}
