/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generates random fabrics for property tests. They are connected, but irregular. A random tree
 * connects the switches; further links join random pairs of switches, some of them in parallel.
 *
 * Some hosts have two ports, at one switch or at two; some have a port without a link. In a quarter
 * of the fabrics, each switch has an aggregation node. A quarter of the fabrics have a router. The
 * links are shuffled before they get their ports, so that port numbers are random.
 */
#include <stdlib.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/make.h"

#define CABLE_LIMIT (1u << 20)
#define SPARE_PORTS 3

struct pair {
    /* The two ends of a link. `a` is the reference of a switch. If the other end is a switch, `b`
     * is its reference; otherwise `b` is the index of the other end in random_fabric.ends. */
    uint32_t a, b;
    /* number of the link's port at node b; 0: b is a switch */
    uint32_t end_port;
};
/* The kinds of nodes other than switches. */
enum end_kind { HOST, HOST_TWO_PORTS, ROUTER, AGGREGATION };

struct random_fabric {
    struct maker m;
    const struct fab_random_spec *spec;
    struct fab_prng prng;
    bool aggregation, router;
    struct pair *cables;
    size_t cable_count, cable_room;
    enum end_kind *ends;
    size_t end_count, end_room;
    uint32_t *used; /* [switches] number of ports used so far */
};

static uint32_t any(struct random_fabric *f, uint32_t below)
{
    return (uint32_t)fab_base_prng_below(&f->prng, below);
}

static void draw_link(struct random_fabric *f, uint32_t a, uint32_t b, uint32_t end_port)
{
    void *bigger = f->cables;
    if (f->cable_count == f->cable_room)
        bigger = fab_base_grow(f->cables, sizeof *f->cables, f->cable_count + 1, &f->cable_room);
    if (bigger == NULL) {
        f->m.status = FAB_E_NOMEM;
        return;
    }
    f->cables = bigger;
    f->cables[f->cable_count++] = (struct pair){a, b, end_port};
    f->used[a]++;
    if (end_port == 0)
        f->used[b]++;
}

/* Draws two of the first `below` switches at random, and returns that with fewer links, so that all
 * switches get about the requested number of links. */
static uint32_t draw_switch(struct random_fabric *f, uint32_t below)
{
    uint32_t a = any(f, below), b = any(f, below);
    return f->used[b] < f->used[a] ? b : a;
}

static void draw_switch_links(struct random_fabric *f)
{
    uint32_t n = f->spec->switches;
    uint64_t wanted = (uint64_t)n * f->spec->degree / 2;
    for (uint32_t i = 1; i < n && f->m.status == FAB_OK; i++)
        draw_link(f, i, draw_switch(f, i), 0);
    while (n > 1 && f->cable_count < wanted && f->m.status == FAB_OK) {
        uint32_t a = draw_switch(f, n), b = draw_switch(f, n);
        if (a != b)
            draw_link(f, a, b, 0);
        if (a != b && any(f, 8) == 0)
            draw_link(f, a, b, 0); /* adds a further link between the same two switches */
    }
}

static void draw_end(struct random_fabric *f, enum end_kind kind, uint32_t sw)
{
    void *bigger = f->ends;
    if (f->end_count == f->end_room)
        bigger = fab_base_grow(f->ends, sizeof *f->ends, f->end_count + 1, &f->end_room);
    if (bigger == NULL) {
        f->m.status = FAB_E_NOMEM;
        return;
    }
    f->ends = bigger;
    f->ends[f->end_count] = kind;
    draw_link(f, sw, (uint32_t)f->end_count, 1);
    if (kind == HOST_TWO_PORTS && any(f, 4) != 0)
        draw_link(f, any(f, 2) == 0 ? sw : any(f, f->spec->switches), (uint32_t)f->end_count, 2);
    f->end_count++;
}

static void draw_ends(struct random_fabric *f)
{
    for (uint32_t sw = 0; sw < f->spec->switches && f->m.status == FAB_OK; sw++) {
        for (uint32_t i = 0; i < f->spec->hosts_per_switch && f->m.status == FAB_OK; i++)
            draw_end(f, any(f, 5) == 0 ? HOST_TWO_PORTS : HOST, sw);
        if (f->aggregation)
            draw_end(f, AGGREGATION, sw);
    }
    if (f->router)
        draw_end(f, ROUTER, any(f, f->spec->switches));
}

/* Adds all nodes. The switches have the first references. The other nodes follow in the order in
 * which they were drawn. */
static void make_nodes(struct random_fabric *f)
{
    uint32_t n = f->spec->switches, width = fab_fabric_make_width(f->end_count, 4);
    for (uint32_t i = 0; i < n && f->m.status == FAB_OK; i++)
        fab_fabric_make_switch(&f->m, f->used[i] + any(f, SPARE_PORTS) + (f->used[i] == 0),
                               (struct make_name){"switch", i + 1, fab_fabric_make_width(n, 3)});
    for (uint32_t i = 0; i < f->end_count && f->m.status == FAB_OK; i++) {
        if (f->ends[i] == AGGREGATION)
            fab_fabric_make_aggregation(&f->m);
        else if (f->ends[i] == ROUTER)
            fab_fabric_make_router(&f->m, 1, (struct make_name){"router", i + 1, width});
        else
            fab_fabric_make_host(&f->m, f->ends[i] == HOST ? 1 : 2,
                                 (struct make_name){"host", i + 1, width});
    }
}

static void shuffle_links(struct random_fabric *f)
{
    for (size_t i = f->cable_count; i > 1; i--) {
        size_t j = (size_t)fab_base_prng_below(&f->prng, i);
        struct pair swap = f->cables[j];
        f->cables[j] = f->cables[i - 1];
        f->cables[i - 1] = swap;
    }
}

static void connect(struct random_fabric *f)
{
    uint32_t n = f->spec->switches;
    shuffle_links(f);
    for (uint32_t i = 0; i < n; i++)
        f->used[i] = 0;
    for (size_t i = 0; i < f->cable_count; i++) {
        const struct pair *c = &f->cables[i];
        uint32_t port = ++f->used[c->a];
        if (c->end_port == 0)
            fab_fabric_make_link(&f->m, c->a, port, c->b, ++f->used[c->b]);
        else
            fab_fabric_make_link(&f->m, c->a, port, n + c->b, c->end_port);
    }
}

static int check(const struct fab_random_spec *s)
{
    if (s->switches == 0 || s->degree > 254 || s->hosts_per_switch > 254 ||
        (uint64_t)s->switches * (s->degree + 2 * s->hosts_per_switch + 2) > CABLE_LIMIT)
        return FAB_E_RANGE;
    return FAB_OK;
}

int fab_fabric_generate_random(const struct fab_random_spec *spec, struct fab_builder **ret)
{
    struct random_fabric f = {.spec = spec};
    int status = check(spec);
    if (status != FAB_OK)
        return status;
    fab_base_prng_init(&f.prng, spec->seed);
    f.aggregation = any(&f, 4) == 0;
    f.router = any(&f, 4) == 0;
    fab_fabric_make_init(&f.m);
    f.used = calloc(spec->switches, sizeof *f.used);
    if (f.used == NULL)
        f.m.status = FAB_E_NOMEM;
    if (f.m.status == FAB_OK) {
        draw_switch_links(&f);
        draw_ends(&f);
        make_nodes(&f);
        connect(&f);
    }
    free(f.cables);
    free(f.ends);
    free(f.used);
    return fab_fabric_make_finish(&f.m, ret);
}
