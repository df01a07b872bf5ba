/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListClasses and ListClassRules. These methods list the traffic classes in the policy
 * of the view. The service levels and virtual lanes of the classes are those in the tables of the
 * view.
 */
#include <inttypes.h>
#include <string.h>

#include "fabric/v1/class.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/sa/sa.h"

#define PORTS_LOOKED_AT 1024

/* ---- virtual lanes --------------------------------------------------------------------------- */

/* Returns the bitset of the VLs that a class uses on ISLs. *ret_least is the smallest share of
 * bandwidth, in per mille, that the VLArbitration tables of the ISLs guarantee to the class; 1000:
 * there is no ISL. In large fabrics, examines only PORTS_LOOKED_AT ports, to limit the time. */
static uint16_t check_isls(const struct fab_view *v, uint8_t class, uint32_t *ret_least)
{
    uint16_t lanes = 0;
    uint32_t least = 1000, looked = 0;
    for (uint32_t port = 0; port < v->fabric->port_count && looked < PORTS_LOOKED_AT; port++) {
        if (!fab_fabric_isl_is_up(v->fabric, port))
            continue;
        looked++;
        lanes |= fab_target_class_vls(v->fabric, &v->policy, &v->target->vls, port, class);
        uint32_t has = fab_qos_guarantee(v->fabric, &v->policy, &v->target->vls, port, class);
        least = has < least ? has : least;
    }
    *ret_least = least;
    return lanes;
}

static size_t list_bits(struct answer *a, uint16_t bits, uint32_t **ret)
{
    size_t count = 0;
    *ret = answer_alloc(a, 16, sizeof **ret);
    for (uint32_t i = 0; *ret != NULL && i < 16; i++)
        if (bits >> i & 1)
            (*ret)[count++] = i;
    return count;
}

static uint16_t levels_of(const struct fab_vls *v, uint8_t class)
{
    uint16_t sls = 0;
    const unsigned each = fab_target_vls_multiple(v) && v->sls > 0 ? v->sls : 1;
    for (unsigned e = 0; e < each; e++)
        sls |= (uint16_t)(1u << fab_target_vls_level_sl(v, class, (uint8_t)e));
    return sls;
}

static void list_others(struct answer *a, const struct fab_view *v, uint8_t class,
                        Fabric__V1__TrafficClass *m)
{
    const struct fab_vls *vls = &v->target->vls;
    m->shares_with = answer_alloc(a, FAB_CLASSES_MAX, sizeof *m->shares_with);
    for (uint8_t i = 0; m->shares_with != NULL && i < fab_target_vls_levels(vls); i++)
        if (i != class && vls->lane_set[i] == vls->lane_set[class])
            m->shares_with[m->n_shares_with++] = answer_text(a, v->policy.classes->class[i].name);
}

/* ---- classes --------------------------------------------------------------------------------- */

static Fabric__V1__TrafficClass *convert_class(struct answer *a, const struct fab_view *v,
                                               uint8_t class)
{
    const struct fab_classes *all = v->policy.classes;
    Fabric__V1__TrafficClass *m =
        ANSWER_NEW(a, Fabric__V1__TrafficClass, fabric__v1__traffic_class);
    if (m == NULL)
        return NULL;
    m->name = answer_text(a, all != NULL ? all->class[class].name : "default");
    uint16_t lanes = check_isls(v, class, &m->guaranteed_permille);
    m->n_service_levels = list_bits(a, levels_of(&v->target->vls, class), &m->service_levels);
    m->n_virtual_lanes = list_bits(a, lanes, &m->virtual_lanes);
    if (all == NULL)
        return m;
    const struct fab_class *k = &all->class[class];
    m->share = k->share;
    m->high_priority = k->high;
    m->rate_limit_mbps = k->rate_mbps != 0 ? k->rate_mbps : fab_sa_rate_mbps(k->rate);
    m->mtu_limit = fab_wire_mtu_bytes(k->mtu);
    for (size_t i = 0; i < all->rules; i++)
        m->rules += all->rule[i].class == class;
    list_others(a, v, class, m);
    return m;
}

void list_classes(struct call *c, const void *request)
{
    Fabric__V1__ListClassesResponse m = FABRIC__V1__LIST_CLASSES_RESPONSE__INIT;
    struct answer a = {0};
    struct fab_view *v = need_target(c);
    (void)request;
    if (v == NULL)
        return;
    /*
     * The policy may already have classes that the tables do not have yet. Only the classes in the
     * tables are shown.
     */
    uint8_t count = fab_policy_classes_count(v->policy.classes);
    if (count > fab_target_vls_levels(&v->target->vls))
        count = fab_target_vls_levels(&v->target->vls);
    m.generation = v->generation;
    m.classes = answer_alloc(&a, count, sizeof *m.classes);
    for (uint8_t i = 0; m.classes != NULL && i < count; i++)
        m.classes[m.n_classes++] = convert_class(&a, v, i);
    answer_reply(&a, c, &m.base);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static char *take_text(struct answer *a, struct fab_text *t)
{
    char *text = answer_text(a, fab_base_text_get(t));
    if (t->status != FAB_OK)
        a->arena.failed = true;
    fab_base_text_fini(t);
    return text;
}

static char *groups_text(struct answer *a, const struct fab_classes *all, uint64_t groups)
{
    struct fab_text t = {0};
    for (size_t i = 0; i < all->groups; i++)
        if (groups >> i & 1)
            fab_base_text_addf(&t, "%s%s", t.len > 0 ? ", " : "", all->group[i].name);
    return take_text(a, &t);
}

static char *ranges_text(struct answer *a, const struct fab_ranges *r, bool hex)
{
    struct fab_text t = {0};
    for (size_t i = 0; i < r->count; i++) {
        const struct fab_range *x = &r->range[i];
        fab_base_text_addf(&t, hex ? "%s0x%" PRIx64 : "%s%" PRIu64, i > 0 ? "," : "", x->first);
        if (x->last != x->first)
            fab_base_text_addf(&t, hex ? "-0x%" PRIx64 : "-%" PRIu64, x->last);
    }
    return take_text(a, &t);
}

static Fabric__V1__ClassRule *convert_rule(struct answer *a, const struct fab_classes *all,
                                           size_t number)
{
    const struct fab_class_rule *r = &all->rule[number];
    Fabric__V1__ClassRule *m = ANSWER_NEW(a, Fabric__V1__ClassRule, fabric__v1__class_rule);
    if (m == NULL)
        return NULL;
    m->number = (uint32_t)number + 1;
    m->source = groups_text(a, all, r->from);
    m->destination = groups_text(a, all, r->to);
    m->either = groups_text(a, all, r->either);
    m->service_ids = ranges_text(a, &r->service, true);
    m->qos_classes = ranges_text(a, &r->qos_class, false);
    m->pkeys = ranges_text(a, &r->pkey, true);
    return m;
}

static void fill_rules(struct answer *a, const struct fab_classes *all, int class,
                       const struct page *page, Fabric__V1__ListClassRulesResponse *m)
{
    m->rules = answer_alloc(a, page->want, sizeof *m->rules);
    for (size_t i = page->given ? (size_t)page->key.number + 1 : 0;
         all != NULL && m->rules != NULL && i < all->rules; i++) {
        if (all->rule[i].class != class)
            continue;
        if (m->n_rules == page->want) {
            struct page_key last = {.list = 'C', .number = i - 1};
            m->next_page_token = page_token(a, &last);
            return;
        }
        m->rules[m->n_rules++] = convert_rule(a, all, i);
    }
}

/* Returns the number of the class with this name; -1: there is no such class. */
static int find_class(const struct fab_classes *all, const char *name)
{
    if (all != NULL)
        return fab_policy_classes_find(all, name);
    return strcmp(name, "default") == 0 ? 0 : -1;
}

void list_class_rules(struct call *c, const void *request)
{
    const Fabric__V1__ListClassRulesRequest *q = request;
    Fabric__V1__ListClassRulesResponse m = FABRIC__V1__LIST_CLASS_RULES_RESPONSE__INIT;
    struct answer a = {0};
    struct page page;
    struct fab_view *v = need_target(c);
    if (v != NULL && read_page(c, 'C', q->page_token, q->page_size, &page)) {
        int class = find_class(v->policy.classes, q->class_);
        m.generation = v->generation;
        if (class >= 0) {
            fill_rules(&a, v->policy.classes, class, &page, &m);
            answer_reply(&a, c, &m.base);
        } else {
            call_finish(c, FAB_GRPC_NOT_FOUND,
                        "no traffic class \"%s\"; 'fabricctl class list' lists them", q->class_);
        }
    }
}
