/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares digests of the answers of subnet administration with tests/unit/golden/sa.golden. For
 * each kind of record, the file has the number of records, a digest of all of them, and a digest of
 * the answers to 300 requests with random components, from a fixed seed. This test shows only that
 * answers have changed; other tests check whether answers are correct. UPDATE_GOLDEN=1 rewrites the
 * file.
 */
#include "tests/support/golden.h"
#include "tests/unit/sa_place.h"

#define REQUESTS 300
/* the digest of an answer covers its first 40 records */
#define ANSWERS 40

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return golden_hash_numbers(hash, &number, 1);
}

/* Lets subnet administration answer the request x->req. Adds the status and up to `most` records to
 * a digest. */
static uint64_t ask(struct place *x, uint64_t digest, uint32_t most, uint32_t *ret_count)
{
    static struct fab_sa_query q;
    uint8_t bytes[FAB_REC_MAX] = {0};
    uint32_t budget = 1u << 30, count = 0;
    uint16_t status = fab_sa_begin(x->sa, &x->req, &q);
    digest = hash_number(digest, status);
    while (status == 0 && count < most && fab_sa_next(&q, &budget, bytes) == FAB_OK) {
        digest = golden_hash(digest, bytes, q.rec->wire_size);
        count++;
    }
    *ret_count = count;
    return hash_number(hash_number(digest, count), (1u << 30) - budget);
}

static void everything(struct place *x, FILE *out)
{
    const uint32_t askers[] = {FAB_SA_ANYBODY, host(x, 1), FAB_NONE};
    memset(x->data, 0, sizeof x->data);
    x->req.data = x->data;
    x->req.comp_mask = 0;
    for (unsigned k = 0; k < FAB_RECS; k++) {
        fprintf(out, "  %s:", fab_wire_recs[k]->name);
        x->req.attr_id = fab_wire_recs[k]->id;
        for (unsigned trusted = 0; trusted < 2; trusted++)
            for (unsigned i = 0; i < 3; i++) {
                uint32_t count;
                x->req.trusted = trusted;
                x->req.from = askers[i];
                uint64_t digest = ask(x, GOLDEN_HASH, UINT32_MAX, &count);
                fprintf(out, " %u %08" PRIx64, count, digest >> 32);
            }
        fputc('\n', out);
    }
    x->req.trusted = false;
    x->req.from = FAB_SA_ANYBODY;
}

/* Fills x->req with a request for records of this kind. Its values are those of an existing record,
 * in some requests with one wrong bit. Its component mask selects up to three components at
 * random. */
static void draw(struct place *x, const struct fab_rec *rec, struct fab_prng *g)
{
    static const uint8_t methods[] = {FAB_METHOD_GET, FAB_METHOD_GET_TABLE, FAB_METHOD_GET_TABLE,
                                      FAB_METHOD_GET_TABLE, FAB_METHOD_GET_TRACE_TABLE};
    static struct fab_sa_query q;
    uint8_t bytes[FAB_REC_MAX] = {0};
    uint32_t budget = 1u << 30, skip = (uint32_t)fab_base_prng_below(g, 60);
    x->req.method = FAB_METHOD_GET_TABLE;
    x->req.attr_id = rec->id;
    x->req.comp_mask = 0;
    memset(x->data, 0, sizeof x->data);
    if (fab_sa_begin(x->sa, &x->req, &q) == 0)
        while (skip-- > 0 && fab_sa_next(&q, &budget, bytes) == FAB_OK)
            memcpy(x->data, bytes, sizeof x->data);
    for (uint64_t n = fab_base_prng_below(g, 4); n > 0; n--)
        x->req.comp_mask |= UINT64_C(1) << fab_base_prng_below(g, 24);
    if (fab_base_prng_below(g, 8) == 0)
        x->data[fab_base_prng_below(g, rec->wire_size)] ^=
            (uint8_t)(1u << fab_base_prng_below(g, 8));
    x->req.method = methods[fab_base_prng_below(g, sizeof methods)];
}

static void some(struct place *x, FILE *out)
{
    struct fab_prng g;
    fab_base_prng_init(&g, 5);
    for (unsigned k = 0; k < FAB_RECS; k++) {
        uint64_t digest = GOLDEN_HASH;
        uint32_t records = 0;
        for (unsigned i = 0; i < REQUESTS; i++) {
            uint32_t count;
            draw(x, fab_wire_recs[k], &g);
            digest = ask(x, digest, ANSWERS, &count);
            records += count;
        }
        fprintf(out, "  %s: %u records, %016" PRIx64 "\n", fab_wire_recs[k]->name, records, digest);
    }
}

/* Fills in a request for path records that names each endport by GID or by LID, and selects some
 * other components. */
static void draw_path(struct place *x, struct fab_prng *g)
{
    const struct fab_fabric *f = x->f;
    const char *names[24] = {0};
    static const char *const more[] = {"Reversible", "NumbPath",
                                       "P_Key",      "QoSClass",
                                       "SL",         "HopLimit",
                                       "Mtu",        "MtuSelector",
                                       "Rate",       "RateSelector",
                                       "TClass",     "PacketLifeTime",
                                       "FlowLabel",  "PacketLifeTimeSelector"};
    uint32_t count = f->node_count - f->switch_count, n = 0;
    uint32_t a = host(x, (uint32_t)fab_base_prng_below(g, count)),
             b = host(x, (uint32_t)fab_base_prng_below(g, count));
    struct fab_wire_path_record r = {.sgid = {PREFIX, fab_fabric_port(f, a)->guid},
                                     .dgid = {PREFIX, fab_fabric_port(f, b)->guid},
                                     .slid = (uint16_t)(lid(x, a) + fab_base_prng_below(g, 3)),
                                     .dlid = (uint16_t)(lid(x, b) + fab_base_prng_below(g, 3)),
                                     .reversible = (uint8_t)fab_base_prng_below(g, 2),
                                     .paths = (uint8_t)fab_base_prng_below(g, 6),
                                     .pkey = fab_base_prng_below(g, 4) > 0 ? 0xffff : 0x7fff,
                                     .sl = (uint8_t)fab_base_prng_below(g, 3),
                                     .hop_limit = (uint8_t)fab_base_prng_below(g, 2),
                                     .mtu_selector = (uint8_t)fab_base_prng_below(g, 4),
                                     .mtu = (uint8_t)(3 + fab_base_prng_below(g, 3)),
                                     .rate_selector = (uint8_t)fab_base_prng_below(g, 4),
                                     .rate = (uint8_t)(2 + fab_base_prng_below(g, 20)),
                                     .life_selector = (uint8_t)fab_base_prng_below(g, 4),
                                     .life = (uint8_t)(16 + fab_base_prng_below(g, 5))};
    if (fab_base_prng_below(g, 10) > 0)
        names[n++] = fab_base_prng_below(g, 3) > 0 ? "SGID" : "SLID";
    if (fab_base_prng_below(g, 10) > 0)
        names[n++] = fab_base_prng_below(g, 3) > 0 ? "DGID" : "DLID";
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (fab_base_prng_below(g, 6) == 0 &&
            fab_wire_rec_component(&fab_wire_path_record, more[i]))
            names[n++] = more[i];
    want(x, &fab_wire_path_record, &r, names);
    x->req.method = fab_base_prng_below(g, 4) == 0 ? FAB_METHOD_GET : FAB_METHOD_GET_TABLE;
}

static void paths(struct place *x, FILE *out)
{
    struct fab_prng g;
    fab_base_prng_init(&g, 6);
    for (unsigned part = 0; part < 4; part++) {
        uint64_t digest = GOLDEN_HASH;
        uint32_t records = 0;
        for (unsigned i = 0; i < REQUESTS; i++) {
            uint32_t count;
            draw_path(x, &g);
            digest = ask(x, digest, ANSWERS, &count);
            records += count;
        }
        fprintf(out, "  paths, part %u: %u records, %016" PRIx64 "\n", part, records, digest);
    }
}

/* Makes every seventh link slower, and lowers the MTU of every ninth port. Then prints the digests
 * of the answers for this fabric. Frees f. */
static void print_place(FILE *out, const char *name, struct fab_fabric *f, const char *engine,
                        uint8_t lmc, bool proven)
{
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t peer = fab_fabric_port(f, p)->peer;
        if (peer == FAB_NONE)
            continue;
        if (p < peer && p % 7 == 3)
            fab_fabric_edit_port(f, p)->info.width_active =
                fab_fabric_edit_port(f, peer)->info.width_active = 1;
        if (p % 9 == 4)
            fab_fabric_edit_port(f, p)->info.mtu_cap = 3;
    }
    struct place x = place_of(f, engine, lmc, proven);
    fprintf(out, "%s, LIDs to %u\n", name, x.v->target->lids.top);
    everything(&x, out);
    some(&x, out);
    x.req.method = FAB_METHOD_GET_TABLE;
    paths(&x, out);
    leave(&x);
}

START_TEST(answers)
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    print_place(out, "leaf-spine", leaf_spine(5, 3, 9), "updn", 1, true);
    print_place(out, "torus", grid((const uint32_t[3]){4, 4, 1}, true, 2), "dfsssp", 0, true);
    print_place(out, "unproven", leaf_spine(2, 2, 3), "minhop", 2, false);
    fclose(out);
    golden_compare("tests/unit/golden/sa.golden", text);
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("golden answers");
    TCase *t = tcase_create("subnet administration");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, answers);
    suite_add_tcase(s, t);
    return test_run(s);
}
