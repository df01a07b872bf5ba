/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for tests of subnet administration. They route a fabric, make a view of it, and send
 * requests to the subnet administration of this view. */
#ifndef TESTS_UNIT_SA_PLACE_H
#define TESTS_UNIT_SA_PLACE_H

#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/sa/kinds.h"
#include "libfabmgr/sa/sa.h"
#include "tests/unit/proving.h"

#define PREFIX UINT64_C(0xfe80000000000000)

struct place {
    struct fab_view *v;
    const struct fab_fabric *f;
    struct fab_sa *sa;
    uint8_t data[FAB_SA_DATA_LEN];
    struct fab_sa_request req;
};

/* Routes the fabric f by this engine, makes a view of it, and starts subnet administration for this
 * view. Frees f. lmc: LMC of the ports of adapters. */
static inline struct place place_with(struct fab_fabric *f, const char *engine, uint8_t lmc,
                                      bool proven, struct fab_classes *classes)
{
    struct place x = {.f = f};
    struct fab_policy p;
    struct fab_verdict verdict = {0};
    struct fab_target *t = fab_target_new();
    char why[200];
    fab_policy_defaults(&p);
    p.lmc = lmc;
    p.classes = classes;
    assigned(f, &p, &t->lids);
    struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &t->lids};
    ck_assert_int_eq(fab_route_engine_by_name(engine)->run(&in, &t->lft, &t->vls, why, sizeof why),
                     FAB_OK);
    struct fab_qos_report report;
    ck_assert_int_eq(fab_qos_compose(classes, 8, &t->vls, &report), FAB_OK);
    struct fab_verify_input judge = {.fabric = f,
                                     .lids = &t->lids,
                                     .lft = &t->lft,
                                     .max_hops = 255,
                                     .vls = &t->vls,
                                     .policy = &p};
    if (proven)
        ck_assert_int_eq(fab_verify(&judge, &verdict), FAB_OK);
    x.v = fab_view_new(7, f, t, &p, &verdict);
    ck_assert_int_eq(fab_sa_new(x.v, &x.sa), FAB_OK);
    x.req.method = FAB_METHOD_GET_TABLE;
    x.req.from = FAB_SA_ANYBODY;
    return x;
}

static inline struct place place_of(struct fab_fabric *f, const char *engine, uint8_t lmc,
                                    bool proven)
{
    return place_with(f, engine, lmc, proven, NULL);
}

static inline void leave(struct place *x)
{
    fab_sa_free(x->sa);
    fab_view_unref(x->v);
}

static inline uint32_t lid(const struct place *x, uint32_t port)
{
    return x->v->target->lids.base[port];
}

static inline uint32_t host(const struct place *x, uint32_t n)
{
    return fab_fabric_port_id(x->f, x->f->switch_count + n, 1);
}

static inline void want(struct place *x, const struct fab_rec *r, const void *from,
                        const char *names[])
{
    x->req.attr_id = r->id;
    x->req.comp_mask = 0;
    x->req.data = x->data;
    ck_assert_int_eq(fab_wire_rec_pack(r, from, x->data, sizeof x->data), FAB_OK);
    for (size_t i = 0; names && names[i]; i++) {
        uint64_t c = fab_wire_rec_component(r, names[i]);
        ck_assert_msg(c != 0, "%s has no %s", r->name, names[i]);
        x->req.comp_mask |= c;
    }
}
#define NAMES(...) ((const char *[]){__VA_ARGS__, NULL})

/* Reads the records in the last answer. Copies the first `room` of them to ret, as structs of
 * `size` bytes. Returns the number of all records. */
static inline uint32_t table(struct place *x, void *ret, size_t size, uint32_t room)
{
    /* The query is static and not cleared, so it still has the values of the previous request. The
     * test shows that these old values have no effect. */
    static struct fab_sa_query q;
    uint8_t bytes[FAB_REC_MAX];
    uint32_t budget = 1u << 30, count = 0;
    ck_assert_uint_eq(fab_sa_begin(x->sa, &x->req, &q), 0);
    while (fab_sa_next(&q, &budget, bytes) == FAB_OK) {
        if (count < room) {
            ck_assert_uint_eq(q.rec->struct_size, size);
            ck_assert_int_eq(
                fab_wire_rec_unpack(q.rec, bytes, sizeof bytes, (uint8_t *)ret + count * size),
                FAB_OK);
        }
        count++;
    }
    return count;
}

static inline uint16_t refusal(struct place *x)
{
    struct fab_sa_query q;
    return fab_sa_begin(x->sa, &x->req, &q);
}

static inline uint16_t get(struct place *x, uint8_t answer[FAB_MAD_SIZE])
{
    struct fab_mad mad = {
        .mgmt_class = FAB_CLASS_SA, .method = x->req.method, .tid = 99, .attr_id = x->req.attr_id};
    struct fab_sa_header head = {.sm_key = 5, .comp_mask = x->req.comp_mask};
    struct fab_sa_request req;
    uint8_t bytes[FAB_MAD_SIZE];
    uint64_t key;
    ck_assert_int_eq(fab_wire_gmp_pack(&mad, NULL, 0, bytes), FAB_OK);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sa_header, &head, bytes + FAB_SA_HEADER, 20),
                     FAB_OK);
    memcpy(bytes + FAB_SA_DATA, x->data, sizeof x->data);
    ck_assert_int_eq(fab_sa_request_read(bytes, sizeof bytes, &req, &key), FAB_OK);
    ck_assert_uint_eq(key, 5);
    req.from = x->req.from;
    uint16_t status = fab_sa_get(x->sa, bytes, &req, 1000, answer);
    ck_assert_uint_eq(fab_base_get_be16(answer + 4), status);
    ck_assert_uint_eq(fab_base_get_be64(answer + 8), 99);
    ck_assert_uint_eq(fab_base_get_be64(answer + FAB_SA_HEADER), 0); /* answers contain no SM_Key */
    return status;
}

#endif
