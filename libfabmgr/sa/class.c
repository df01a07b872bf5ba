/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the traffic class of a path. The rules of the policy depend on the request and on the
 * endports of the path, and have precedence. If no rule matches and the request has an SL, the path
 * gets the class that has this SL on the path. */
#include "libfabmgr/sa/kinds.h"

static int class_of_rules(const struct fab_sa_query *q, uint32_t src, uint32_t dst, uint16_t pkey)
{
    const struct fab_wire_path_record *w = &q->path, *g = &q->given;
    struct fab_qos_path path = {.src = src, .dst = dst, .pkey = pkey};
    path.has_service = g->service_msb && g->service_lsb;
    path.service = (uint64_t)w->service_msb << 56 | w->service_lsb;
    path.has_class = g->qos_class;
    path.qos_class = w->qos_class;
    return fab_qos_match(&q->sa->matcher, &path);
}

uint8_t fab_sa_class(const struct fab_sa_query *q, uint32_t src, uint32_t dst, uint32_t lid,
                     uint16_t pkey)
{
    const struct fab_view *v = q->sa->view;
    const struct fab_vls *vls = &v->target->vls;
    if (vls->levels < 2 || vls->levels != fab_policy_classes_count(q->sa->matcher.classes))
        return 0;
    int class = class_of_rules(q, src, dst, pkey);
    uint8_t sl =
        class < 0 && q->given.sl ? fab_target_sl(v->fabric, &v->target->lids, vls, src, lid) : 0;
    for (uint8_t i = 0; class < 0 && q->given.sl && i < vls->levels; i++)
        if (fab_target_vls_level_sl(vls, i, sl) == q->path.sl)
            class = i;
    return class < 0 ? 0 : (uint8_t) class;
}

void fab_sa_class_limits(const struct fab_sa_query *q, uint8_t class, unsigned *mtu, unsigned *rank,
                         unsigned *life)
{
    const struct fab_classes *all = q->sa->matcher.classes;
    if (all == NULL)
        return;
    const struct fab_class *c = &all->class[class];
    unsigned most = c->rate_mbps != 0 ? fab_sa_rank(c->rate_mbps) : fab_sa_rank_of_rate(c->rate);
    if (c->mtu != 0 && c->mtu < *mtu)
        *mtu = c->mtu;
    if (most != 0 && most < *rank)
        *rank = most;
    if (c->has_life && *life != 0)
        *life = c->life;
}

uint16_t fab_sa_class_pkey(const struct fab_sa *sa, uint8_t class)
{
    return sa->matcher.classes != NULL ? sa->matcher.classes->class[class].pkey : 0;
}
