/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The smallest set of cable moves, compared with a search of all sequences of moves. A matching
 * says which ports are connected with each other. The test compares all pairs of matchings of six
 * ports, and random pairs of matchings of nine ports.
 */
#include "libfabmgr/cabling/moves.h"
#include "tests/unit/testing.h"

#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/fabric/fabric.h"

#define PORTS_MAX 9
#define STATES_MAX 2620 /* there are 2620 matchings of nine ports */

/* A state is a matching: peer[] has the port to which each port is connected. A space has all
 * matchings of `ports` ports. */
struct state {
    uint32_t peer[PORTS_MAX];
};
struct space {
    unsigned ports, count;
    struct state states[STATES_MAX];
};

/* Adds to the space all matchings in which the ports below p are connected as in s. */
static void enumerate(struct space *space, struct state *s, unsigned p)
{
    while (p < space->ports && s->peer[p] != FAB_NONE)
        p++;
    if (p == space->ports) {
        ck_assert_uint_lt(space->count, STATES_MAX);
        space->states[space->count++] = *s;
        return;
    }
    s->peer[p] = p; /* port p has no cable */
    enumerate(space, s, p + 1);
    for (uint32_t q = p + 1; q < space->ports; q++) {
        if (s->peer[q] != FAB_NONE)
            continue;
        s->peer[p] = q;
        s->peer[q] = p;
        enumerate(space, s, p + 1);
        s->peer[q] = FAB_NONE;
    }
    s->peer[p] = FAB_NONE;
}

static struct space *space_new(unsigned ports)
{
    struct space *space = calloc(1, sizeof *space);
    struct state s;
    space->ports = ports;
    memset(&s, 0xff, sizeof s);
    enumerate(space, &s, 0);
    for (unsigned i = 0; i < space->count; i++)
        for (unsigned p = 0; p < PORTS_MAX; p++)
            if (p >= ports || space->states[i].peer[p] == p)
                space->states[i].peer[p] = FAB_NONE;
    return space;
}

static unsigned index_of(const struct space *space, const struct state *s)
{
    for (unsigned i = 0; i < space->count; i++)
        if (memcmp(&space->states[i], s, sizeof *s) == 0)
            return i;
    ck_abort_msg("no such matching");
}

static void join(struct state *s, uint32_t a, uint32_t b)
{
    if (a != FAB_NONE)
        s->peer[a] = b;
    if (b != FAB_NONE)
        s->peer[b] = a;
}

/* Makes one step. If ports a and b are connected with each other, removes the cable. If both are
 * free, connects them. If only one is free, the cable end at the other port moves there. Otherwise
 * exchanges the cable ends at a and b. */
static struct state step(struct state s, uint32_t a, uint32_t b)
{
    uint32_t x = s.peer[a], y = s.peer[b];
    if (x == b || (x == FAB_NONE && y == FAB_NONE)) {
        join(&s, a, x == b ? FAB_NONE : b);
        s.peer[b] = x == b ? FAB_NONE : a;
        return s;
    }
    s.peer[a] = s.peer[b] = FAB_NONE;
    join(&s, a, y);
    join(&s, b, x);
    return s;
}

/* Computes by breadth-first search how many steps lead from the matching with the index `from` to
 * each other matching. */
static void search(const struct space *space, unsigned from, unsigned *steps)
{
    unsigned *queue = calloc(space->count, sizeof *queue), head = 0, tail = 0;
    memset(steps, 0xff, space->count * sizeof *steps);
    steps[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        unsigned i = queue[head++];
        for (uint32_t a = 0; a < space->ports; a++)
            for (uint32_t b = a + 1; b < space->ports; b++) {
                struct state s = step(space->states[i], a, b);
                unsigned k = index_of(space, &s);
                if (steps[k] == UINT32_MAX) {
                    steps[k] = steps[i] + 1;
                    queue[tail++] = k;
                }
            }
    }
    free(queue);
}

static unsigned random_distance(const void *ctx, uint32_t a, uint32_t b)
{
    const uint64_t *seed = ctx;
    return (unsigned)(fab_base_mix64(*seed + (a < b ? a * 16 + b : b * 16 + a)) % 4);
}

/* Makes one move, which must be possible. */
static void apply(struct state *s, const struct fab_cabling_move *m)
{
    switch (m->step) {
    case FAB_CABLING_EXCHANGE:
        ck_assert_uint_ne(s->peer[m->a], FAB_NONE);
        ck_assert_uint_ne(s->peer[m->b], FAB_NONE);
        ck_assert_uint_ne(s->peer[m->a], m->b);
        break;
    case FAB_CABLING_MOVE:
        ck_assert_uint_eq(s->peer[m->a], m->other);
        ck_assert_uint_eq(s->peer[m->b], FAB_NONE);
        break;
    case FAB_CABLING_CONNECT:
        ck_assert_uint_eq(s->peer[m->a], FAB_NONE);
        ck_assert_uint_eq(s->peer[m->b], FAB_NONE);
        break;
    case FAB_CABLING_REMOVE:
        ck_assert_uint_eq(s->peer[m->a], m->b);
        break;
    }
    *s = step(*s, m->a, m->b);
}

static void check(const struct space *space, const struct state *planned,
                  const struct state *actual, unsigned least, uint64_t seed)
{
    const struct fab_cabling_ports ports = {.count = space->ports,
                                            .planned = planned->peer,
                                            .actual = actual->peer,
                                            .distance = random_distance,
                                            .ctx = &seed};
    struct fab_cabling_moves moves = {0};
    struct state s = *actual;
    ck_assert_int_eq(fab_cabling_moves_find(&ports, &moves), 0);
    for (size_t i = 0; i < moves.count; i++)
        apply(&s, &moves.moves[i]);
    ck_assert_mem_eq(&s, planned, sizeof s);
    ck_assert_uint_eq(moves.count, least);
    fab_cabling_moves_fini(&moves);
}

START_TEST(all_matchings_of_six_ports)
{
    struct space *space = space_new(6);
    ck_assert_uint_eq(space->count, 76);
    unsigned steps[76];
    for (unsigned from = 0; from < space->count; from++) {
        search(space, from, steps);
        for (unsigned to = 0; to < space->count; to++)
            check(space, &space->states[to], &space->states[from], steps[to], from * 76 + to);
    }
    free(space);
}
END_TEST

START_TEST(random_matchings_of_nine_ports)
{
    struct fab_prng prng;
    uint64_t seed = test_seed("random matchings", 7);
    fab_base_prng_init(&prng, seed);
    struct space *space = space_new(9);
    unsigned *steps = calloc(space->count, sizeof *steps);
    for (unsigned round = 0; round < 3; round++) {
        unsigned from = (unsigned)fab_base_prng_below(&prng, space->count);
        search(space, from, steps);
        for (unsigned to = 0; to < space->count; to++)
            check(space, &space->states[to], &space->states[from], steps[to], seed + to);
    }
    free(steps);
    free(space);
}
END_TEST

/* The price of exchanging the cable ends at ports a and b: nothing within a switch. Of the smallest
 * sets of moves, the library must choose the cheapest one. Ports 0, 2 and 4 are at one switch;
 * ports 1, 3 and 5 are at three others. */
static unsigned one_switch(const void *ctx, uint32_t a, uint32_t b)
{
    (void)ctx;
    return a % 2 == 0 && b % 2 == 0 ? 0 : 2;
}

START_TEST(exchanges_at_one_switch_are_preferred)
{
    const uint32_t planned[] = {1, 0, 3, 2, 5, 4}, actual[] = {3, 4, 5, 0, 1, 2};
    const struct fab_cabling_ports ports = {
        .count = 6, .planned = planned, .actual = actual, .distance = one_switch};
    struct fab_cabling_moves moves = {0};
    ck_assert_int_eq(fab_cabling_moves_find(&ports, &moves), 0);
    ck_assert_uint_eq(moves.count, 2);
    for (size_t i = 0; i < moves.count; i++) {
        ck_assert_uint_eq(moves.moves[i].a % 2, 0);
        ck_assert_uint_eq(moves.moves[i].b % 2, 0);
    }
    fab_cabling_moves_fini(&moves);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cabling/moves");
    TCase *all = tcase_create("moves");
    tcase_add_test(all, all_matchings_of_six_ports);
    tcase_add_test(all, random_matchings_of_nine_ports);
    tcase_add_test(all, exchanges_at_one_switch_are_preferred);
    tcase_set_timeout(all, 60);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
