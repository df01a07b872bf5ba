/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the congestion control settings of fabricd, and of other managers as far as they are known.
 *
 * OpenSM 3.3.24 writes what the operator configured; its defaults are zeros. For the plug-in of
 * MLNX_OFED 2, the manual has these values: threshold 15, marking rate 10, minimum packet size 512
 * bytes, CCTI_Increase 1, trigger 2. About the table and the timer, it says only that they depend
 * on the number of hosts. Here the delays of the plug-in rise in equal steps, up to a rate of
 * 1/hosts, with the timer of 154 us that its authors published (Gran et al., IPDPS 2010). For
 * opa-fm, the values are from its opafm.xml and stl_cca.c: threshold 8, marking rate 0, no minimum
 * packet size, Victim_Mask set, CCTI_Increase 5, timer 10, CCTI limit 127, and delays in equal
 * steps up to 8.3 us.
 */
#include "tests/bench/congestion/scene.h"

#define LIMIT 127
#define PACKET_NS (4122 * 8 / 100.0)

const char *const who_names[WHOS] = {"alone", "off",    "zeros",      "plugin", "opa-fm",
                                     "ours",  "incast", "collective", "told"};

static void equal_steps(double last, struct fab_congestion_table *t)
{
    t->limit = LIMIT;
    for (uint32_t i = 0; i <= LIMIT; i++)
        t->entry[i] = fab_congestion_entry((uint64_t)(8 * last * i / LIMIT + 0.5));
}

static void all_sls(struct fab_congestion_adapter *a, struct fab_congestion_sl sl)
{
    a->sls = 0xffff;
    for (int i = 0; i < FAB_CONGESTION_SLS; i++)
        a->sl[i] = sl;
}

static void fill(const struct scene *s, enum who who, struct fab_congestion_port *p,
                 struct fab_congestion_adapter *a)
{
    if (who == PLUGIN) {
        *p = (struct fab_congestion_port){.threshold = 15, .marking_rate = 10, .packet_size = 8};
        all_sls(a, (struct fab_congestion_sl){.timer = 150, .increase = 1, .trigger = 2});
        equal_steps(s->ends - 1, &a->table);
    } else if (who == OPA) {
        *p = (struct fab_congestion_port){.threshold = 8, .victim = true};
        all_sls(a, (struct fab_congestion_sl){.timer = 10, .increase = 5, .trigger = 8});
        equal_steps(8300 / PACKET_NS, &a->table);
    } else {
        all_sls(a, (struct fab_congestion_sl){0});
        a->table.limit = LIMIT;
    }
}

/* Gives all ports the same values, which depend on the manager `who`. */
static void uniform(const struct scene *s, enum who who, struct fab_congestion *c)
{
    *c = (struct fab_congestion){
        .ports = s->fabric->port_count, .port_count = 1, .adapter_count = 1};
    c->of_port = calloc(c->ports, sizeof *c->of_port);
    c->port = calloc(1, sizeof *c->port);
    c->adapter = calloc(1, sizeof *c->adapter);
    if (c->of_port == NULL || c->port == NULL || c->adapter == NULL)
        must(FAB_E_NOMEM, "settings");
    fill(s, who, c->port, c->adapter);
}

void settings(struct scene *s, enum who who, uint32_t senders, struct fab_congestion *ret)
{
    struct fab_congestion_input in = {.fabric = s->fabric, .policy = &s->policy};
    *ret = (struct fab_congestion){0};
    if (who >= ZEROS && who < OURS)
        uniform(s, who, ret);
    if (who < OURS)
        return;
    s->policy.congestion.profile = who == INCAST       ? FAB_CONGESTION_INCAST
                                   : who == COLLECTIVE ? FAB_CONGESTION_COLLECTIVE
                                                       : FAB_CONGESTION_BALANCED;
    s->policy.congestion.fan_in = who == TOLD ? senders : 0;
    must(fab_congestion_compute(&in, ret), "ours");
}
