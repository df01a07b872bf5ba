/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The largest incast that partitions permit, compared with a count over all pairs of P_Key tables.
 * Partitions are random, or as sites configure them: one partition for each job. Also measures the
 * computing time for 11,664 endports in 1,000 jobs.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/partition/incast.h"
#include "libfabmgr/partition/partition.h"
#include "tests/unit/fabrics.h"
#include "tests/unit/testing.h"

/* ---- tables by hand -------------------------------------------------------------------------- */

struct world {
    struct fab_fabric *f;
    struct fab_pkeys pkeys;
    uint32_t *senders;
};

static struct world world_of(struct fab_fabric *sealed)
{
    struct world w = {0};
    ck_assert_int_eq(fab_fabric_clone(sealed, &w.f), 0);
    fab_fabric_unref(sealed);
    w.f->self_port = FAB_NONE;
    w.senders = calloc(w.f->port_count, sizeof *w.senders);
    return w;
}

static void world_fini(struct world *w)
{
    fab_target_pkeys_fini(&w->pkeys);
    fab_fabric_unref(w->f);
    free(w->senders);
}

static uint32_t host(const struct world *w, uint32_t i)
{
    return fab_fabric_port_id(w->f, w->f->switch_count + i, 1);
}

/* Gives each port a table of up to `most` random P_Keys, with base values from 0 to `partitions`
 * and either membership. */
static void fill(struct world *w, struct fab_prng *r, uint32_t most, uint32_t partitions)
{
    uint32_t ports = w->f->port_count, at = 0;
    fab_target_pkeys_fini(&w->pkeys);
    w->pkeys = (struct fab_pkeys){.ports = ports,
                                  .first = calloc(ports + 1u, sizeof(uint32_t)),
                                  .key = calloc((size_t)ports * most + 1, sizeof(uint16_t)),
                                  .enforce = calloc(ports + 1u, 1)};
    for (uint32_t p = 0; p < ports; p++) {
        w->pkeys.first[p] = at;
        for (uint64_t n = fab_base_prng_below(r, most + 1); n > 0; n--)
            w->pkeys.key[at++] = (uint16_t)(fab_base_prng_below(r, partitions + 1) |
                                            (fab_base_prng_chance(r, 0.5) ? FAB_PKEY_FULL : 0));
    }
    w->pkeys.first[ports] = at;
}

static bool is_end(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_node *n = &f->nodes[fab_fabric_port(f, port)->node];
    return n->type != FAB_NODE_SWITCH && !n->aggregation && fab_fabric_port_is_up(f, port);
}

static bool match(const struct world *w, uint32_t a, uint32_t b)
{
    static const uint16_t open = 0xffff;
    uint32_t n, m;
    const uint16_t *x = fab_target_pkeys_table(&w->pkeys, a, &n),
                   *y = fab_target_pkeys_table(&w->pkeys, b, &m);
    x = n ? x : &open;
    y = m ? y : &open;
    for (uint32_t i = 0; i < (n ? n : 1); i++)
        for (uint32_t k = 0; k < (m ? m : 1); k++)
            if (fab_target_pkeys_match(x[i], y[k]) &&
                (fab_target_pkey_base(x[i]) != FAB_PKEY_DEFAULT ||
                 (a != w->f->self_port && b != w->f->self_port)))
                return true;
    return false;
}

static uint32_t senders(const struct world *w, uint32_t to)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < w->f->port_count; p++)
        count += p != to && is_end(w->f, p) && match(w, p, to);
    return count;
}

static uint32_t naive(const struct world *w, const uint32_t *senders_of, uint32_t port)
{
    uint32_t most = 1;
    for (uint32_t p = 0; p < w->f->port_count; p++)
        if (p != port && is_end(w->f, p) && match(w, port, p) && senders_of[p] > most)
            most = senders_of[p];
    return most;
}

static void check(struct world *w)
{
    uint32_t *all = calloc(w->f->port_count, sizeof *all);
    ck_assert_int_eq(fab_partition_incast(w->f, &w->pkeys, w->senders), 0);
    for (uint32_t p = 0; p < w->f->port_count; p++)
        all[p] = is_end(w->f, p) ? senders(w, p) : 0;
    for (uint32_t p = 0; p < w->f->port_count; p++)
        ck_assert_uint_eq(w->senders[p], is_end(w->f, p) ? naive(w, all, p) : 0);
    free(all);
}

START_TEST(as_pairs_of_tables_say)
{
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("tables", 21));
    for (int i = 0; i < 300; i++) {
        struct world w = world_of(random_fabric(2 + (uint32_t)fab_base_prng_below(&r, 8), 3,
                                                1 + (uint32_t)fab_base_prng_below(&r, 6),
                                                fab_base_prng_next(&r)));
        if (fab_base_prng_chance(&r, 0.7))
            w.f->self_port = host(&w, 0);
        for (int k = 0; k < 5; k++) {
            fill(&w, &r, 1 + (uint32_t)fab_base_prng_below(&r, 6),
                 1 + (uint32_t)fab_base_prng_below(&r, 30));
            /* adds keys of the default partition to the random ones */
            if (fab_base_prng_chance(&r, 0.5))
                for (uint32_t n = w.pkeys.first[w.f->port_count]; n > 0; n--)
                    if (fab_target_pkey_base(w.pkeys.key[n - 1]) == 1)
                        w.pkeys.key[n - 1] |= FAB_PKEY_DEFAULT;
            check(&w);
        }
        world_fini(&w);
    }
}
END_TEST

/* ---- configurations of sites ----------------------------------------------------------------- */

/* Makes a fabric of eight hosts, with the manager at the first host. */
static struct world site(const char *text)
{
    struct world w = world_of(leaf_spine(2, 2, 4));
    struct fab_partitions *p = NULL;
    struct fab_partitions_error e = {0};
    struct fab_partition_report report;
    w.f->self_port = host(&w, 0);
    ck_assert_msg(fab_policy_partitions_read(text, strlen(text), &p, &e) == 0, "%s", e.message);
    struct fab_partition_input in = {.fabric = w.f, .partitions = p};
    ck_assert_int_eq(fab_partition_tables(&in, &w.pkeys, &report), 0);
    fab_policy_partitions_unref(p);
    check(&w);
    return w;
}

/* Checks for each of the eight hosts how many senders the largest incast has to which this host can
 * contribute. senders: one digit for each host, such as "77733311". */
static void expect(const char *text, const char *senders)
{
    struct world w = site(text);
    for (uint32_t i = 0; i < 8; i++)
        ck_assert_msg(w.senders[host(&w, i)] == (uint32_t)(senders[i] - '0'), "%s: host %u: %u",
                      text, i + 1, w.senders[host(&w, i)]);
    world_fini(&w);
}

START_TEST(as_sites_have_them)
{
    /* Any endport can send to any other, because all are full members of the default partition. The
     * manager's own port (host 1) does not count. */
    expect("Default=0x7fff: ALL=full; A=1: \"host-0002\", \"host-0003\"=full;", "16666666");
    /* In the default partition, all endports are limited members. So an endport can communicate
     * only with the others of its job. */
    expect("A=1: \"host-0002\"=full, \"host-0003\"=full, \"host-0004\"=full;"
           "B=2: \"host-0005\"=full, \"host-0006\"=full;",
           "12221111");
    /* Host 8, a management node, can communicate with all others. So six hosts can send to it at
     * once. */
    expect("Default=0x7fff: ALL=limited, \"host-0008\"=full;"
           "A=1: \"host-0002\"=full, \"host-0003\"=full, \"host-0004\"=full;",
           "16666663");
    /* Three clients can send to the storage node (host 2), but not to each other. The storage node
     * counts for no incast of its own. */
    expect("S=3: \"host-0002\"=full, \"host-0003\"=limited, \"host-0004\"=limited, "
           "\"host-0005\"=limited;",
           "11333111");
    /* Host 4 is in both jobs, so all four other members can send to it at once. */
    expect("A=1: \"host-0002\"=full, \"host-0003\"=full, \"host-0004\"=full;"
           "B=2: \"host-0004\"=full, \"host-0005\"=full, \"host-0006\"=full;",
           "14424411");
    /* the manager's host is in the partition of the job, like any other host */
    expect("A=1: \"host-0001\"=full, \"host-0002\"=full, \"host-0003\"=full;", "22211111");
}
END_TEST

START_TEST(an_open_fabric_is_not_bounded)
{
    struct world w = world_of(leaf_spine(2, 2, 4));
    ck_assert_int_eq(fab_partition_incast(w.f, &w.pkeys, w.senders), 0);
    for (uint32_t i = 0; i < 8; i++)
        ck_assert_uint_eq(w.senders[host(&w, i)], 7);
    world_fini(&w);
}
END_TEST

/* ---- cost ------------------------------------------------------------------------------------ */

static double ms_of(struct world *w)
{
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    ck_assert_int_eq(fab_partition_incast(w->f, &w->pkeys, w->senders), 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    return (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
}

/* Makes the P_Key tables of `jobs` jobs, which have one partition each. Each host is a full member
 * of the partitions of `jobs_a_host` random jobs, and a limited member of the default partition. */
static void give_jobs(struct world *w, struct fab_prng *r, uint32_t jobs, uint32_t jobs_a_host)
{
    uint32_t ports = w->f->port_count, at = 0;
    fill(w, r, jobs_a_host + 1, 1);
    for (uint32_t p = 0; p < ports; p++) {
        w->pkeys.first[p] = at;
        if (!is_end(w->f, p))
            continue;
        w->pkeys.key[at++] = FAB_PKEY_DEFAULT;
        for (uint32_t k = 0; k < jobs_a_host; k++)
            w->pkeys.key[at++] = (uint16_t)(FAB_PKEY_FULL | (1 + fab_base_prng_below(r, jobs)));
    }
    w->pkeys.first[ports] = at;
}

static struct fab_fabric *fat_tree(uint32_t radix)
{
    struct fab_fat_tree_spec spec = {.radix = radix, .levels = 3};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), 0);
    return sealed(b);
}

START_TEST(a_thousand_jobs)
{
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("jobs", 22));
    struct world w = world_of(fat_tree(36));
    w.f->self_port = host(&w, 0);
    for (uint32_t jobs_a_host = 1; jobs_a_host <= 16; jobs_a_host *= 4) {
        uint32_t most = 0;
        give_jobs(&w, &r, 1000, jobs_a_host);
        double ms = ms_of(&w);
        for (uint32_t p = 0; p < w.f->port_count; p++)
            most = w.senders[p] > most ? w.senders[p] : most;
        printf("# 11,664 ends, 1,000 jobs, %u for each end: at most %u senders, %.1f ms\n",
               jobs_a_host, most, ms);
        ck_assert_uint_gt(most, 11);
        ck_assert_uint_lt(most, 32 * jobs_a_host * jobs_a_host);
    }
    world_fini(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("incasts of partitions");
    TCase *t = tcase_create("incasts");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, as_pairs_of_tables_say);
    tcase_add_test(t, as_sites_have_them);
    tcase_add_test(t, an_open_fabric_is_not_bounded);
    tcase_add_test(t, a_thousand_jobs);
    return test_run(s);
}
