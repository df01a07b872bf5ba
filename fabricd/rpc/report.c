/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the endports that studies measure, and makes the reports of engines. All functions except
 * measure_init, name_list_copy and those named _fini run on the worker thread, on values that no
 * other thread changes. The worker thread also looks up the names of the endports, because
 * thousands of names take a long time. */
#include "fabricd/rpc/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/rpc/limits.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/glob.h"
#include "libfabmgr/base/host_list.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/hosts/hosts.h"
#include "libfabmgr/view/filter.h"

/* ---- endports to measure --------------------------------------------------------------------- */

int name_list_copy(struct name_list *l, char **names, size_t count)
{
    l->name = calloc(count + 1, sizeof *l->name);
    for (size_t i = 0; l->name != NULL && i < count; i++) {
        l->name[i] = strdup(names[i]);
        if (l->name[i] == NULL)
            return FAB_E_NOMEM;
        l->count++;
    }
    return l->name != NULL ? FAB_OK : FAB_E_NOMEM;
}

void name_list_fini(struct name_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->name[i]);
    free(l->name);
    *l = (struct name_list){0};
}

int measure_init(struct measure *m, struct call *c, const Fabric__V1__QualityOptions *options)
{
    *m = (struct measure){.samples = FAB_QUALITY_SAMPLES};
    if (options == NULL)
        return FAB_OK;
    m->seed = options->seed;
    if (options->samples > FAB_QUALITY_SAMPLES_MAX) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "samples is %u; at most %u are accepted",
                    options->samples, FAB_QUALITY_SAMPLES_MAX);
        return FAB_E_INVAL;
    }
    if (options->samples > 0)
        m->samples = options->samples;
    int rc = name_list_copy(&m->names, options->endports, options->n_endports);
    if (rc < 0) {
        measure_fini(m);
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    }
    return rc;
}

void measure_fini(struct measure *m)
{
    name_list_fini(&m->names);
    free(m->ends);
    *m = (struct measure){0};
}

struct resolving {
    struct measure *m;
    struct study *s;
    size_t room;
    /* bitset of port ids: the ports that m->ends already has */
    uint64_t *seen;
    struct fab_hosts hosts; /* the hosts of the view; valid if has_hosts is true */
    bool has_hosts;
};

static int refuse(struct study *s, enum fab_grpc_code code, const char *name, const char *what)
{
    s->code = code;
    snprintf(s->why, sizeof s->why, "'%.200s' %s", name, what);
    return FAB_E_INVAL;
}

static int add_end(struct resolving *r, const char *name, uint32_t port)
{
    const struct fab_fabric *f = r->s->view->fabric;
    struct measure *m = r->m;
    if (fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node))
        return refuse(r->s, FAB_GRPC_INVALID_ARGUMENT, name, "is a switch, and no end of a job");
    if (!fab_fabric_port_is_up(f, port) || fab_fabric_peer_node(f, port) >= f->switch_count)
        return refuse(r->s, FAB_GRPC_INVALID_ARGUMENT, name, "has no active link to a switch");
    if (!fab_base_bits_add(r->seen, port))
        return refuse(r->s, FAB_GRPC_INVALID_ARGUMENT, name, "comes twice");
    if (m->end_count == RPC_JOB_ENDS)
        return refuse(r->s, FAB_GRPC_INVALID_ARGUMENT, name, "is one end too many");
    uint32_t *ends = fab_base_grow(m->ends, sizeof *ends, m->end_count + 1, &r->room);
    if (ends == NULL)
        return FAB_E_NOMEM;
    m->ends = ends;
    m->ends[m->end_count++] = port;
    return FAB_OK;
}

static int need_resolved_hosts(struct resolving *r)
{
    const struct fab_view *v = r->s->view;
    int rc = r->has_hosts ? FAB_OK : fab_hosts_find(v->fabric, v->policy.locations, &r->hosts);
    r->has_hosts |= rc == FAB_OK;
    return rc;
}

/* Adds the endports of a host that are up and have a LID. `name`: what the client named, for
 * messages. */
static int add_ends_of_host(struct resolving *r, const char *name, uint32_t host)
{
    const struct fab_view *v = r->s->view;
    const struct fab_host *h = &r->hosts.hosts[host];
    for (uint32_t i = 0; i < h->count; i++) {
        const struct fab_node *n = &v->fabric->nodes[r->hosts.adapters[h->first + i].node];
        for (uint32_t port = n->first_port + 1; port <= n->first_port + n->num_ports; port++) {
            if (!fab_fabric_port_is_up(v->fabric, port) || v->target->lids.base[port] == 0)
                continue;
            int rc = add_end(r, name, port);
            if (rc != FAB_OK)
                return rc;
        }
    }
    return FAB_OK;
}

/* Adds the endports of the host with this name or, if `rack` is true, of all hosts in the rack with
 * this name. Returns NOT_FOUND if there is no such host. On other errors, the study fails. */
static int add_hosts(struct resolving *r, const char *name, bool rack)
{
    uint32_t before = r->m->end_count, found = 0;
    int rc = need_resolved_hosts(r);
    for (uint32_t i = 0; rc == FAB_OK && i < r->hosts.count; i++) {
        const struct fab_host *h = &r->hosts.hosts[i];
        if (rack ? !fab_hosts_is_rack(h->location->rack, name) : strcmp(h->name, name) != 0)
            continue;
        rc = add_ends_of_host(r, name, i);
        found++;
    }
    if (rc != FAB_OK || found == 0)
        return rc != FAB_OK ? rc : FAB_E_NOT_FOUND;
    return r->m->end_count > before
               ? FAB_OK
               : refuse(r->s, FAB_GRPC_INVALID_ARGUMENT, name, "has no active link to a switch");
}

/* Adds the endports that a name selects if it did not select a single endport: those of a host or
 * of a rack. `rc`: the result of fab_view_find_port. EXISTS: several endports match the name, so it
 * can be the name of a host. */
static int resolve_other(struct resolving *r, const char *name, int rc)
{
    if (strncmp(name, FAB_FILTER_RACK, strlen(FAB_FILTER_RACK)) == 0)
        return add_hosts(r, name + strlen(FAB_FILTER_RACK), true);
    if (rc == FAB_E_EXISTS)
        return add_hosts(r, name, false);
    return r->s->view->policy.locations != NULL && !fab_base_is_glob(name)
               ? add_hosts(r, name, true)
               : FAB_E_NOT_FOUND;
}

static int resolve_name(void *ctx, const char *name)
{
    struct resolving *r = ctx;
    char why[512] = "";
    uint32_t port;
    if (study_stopped(r->s))
        return FAB_E_BUSY;
    int rc = fab_view_find_port(r->s->view, name, &port, why, sizeof why);
    if (rc == FAB_OK)
        return add_end(r, name, port);
    int other = resolve_other(r, name, rc);
    if (other != FAB_E_NOT_FOUND)
        return other;
    snprintf(r->s->missing, sizeof r->s->missing, "%s", name);
    r->s->code = rc == FAB_E_EXISTS ? FAB_GRPC_INVALID_ARGUMENT : fab_grpc_code_of(rc);
    snprintf(r->s->why, sizeof r->s->why, "%s", why[0] != '\0' ? why : fab_base_status_text(rc));
    return rc;
}

/* Adds the endports that a text names. If the whole text is the name of a node, brackets in the
 * text are not expanded. */
static int resolve_text(struct resolving *r, const char *text)
{
    char why[512];
    uint32_t port;
    if (strchr(text, '[') != NULL &&
        fab_view_find_port(r->s->view, text, &port, why, sizeof why) == FAB_OK)
        return add_end(r, text, port);
    return fab_base_host_list_each(text, resolve_name, r);
}

bool measure_resolve(struct measure *m, struct study *s)
{
    if (m->names.count == 0 || m->ends != NULL)
        return true;
    struct resolving r = {.m = m, .s = s, .seen = fab_base_bits_new(s->view->fabric->port_count)};
    int rc = r.seen != NULL ? FAB_OK : FAB_E_NOMEM;
    for (size_t i = 0; i < m->names.count && rc == FAB_OK; i++)
        rc = resolve_text(&r, m->names.name[i]);
    if (rc < 0 && s->code == FAB_GRPC_OK)
        study_fail(s, rc, "the ends could not be found");
    if (r.has_hosts)
        fab_hosts_fini(&r.hosts);
    free(r.seen);
    return rc == FAB_OK;
}

/* ---- figures --------------------------------------------------------------------------------- */

bool measure_quality(const struct measure *m, struct study *s, const struct fab_fabric *fabric,
                     const struct fab_lids *lids, const struct fab_lft *lft,
                     struct fab_quality *ret)
{
    const struct fab_quality_input in = {.fabric = fabric,
                                         .lids = lids,
                                         .lft = lft,
                                         .ends = m->ends,
                                         .end_count = m->end_count,
                                         .samples = m->samples,
                                         .seed = m->seed,
                                         .stopped = study_stopped,
                                         .stopped_ctx = s};
    int rc = fab_study_quality_measure(&in, ret);
    if (rc < 0)
        study_fail(s, rc, "the quality could not be measured");
    return rc == FAB_OK;
}

static int route(struct report *r, const struct study *s, const struct fab_fabric *fabric,
                 const struct fab_lids *lids)
{
    /* `policy` must not be freed, because its pointers are those of the policy of the view */
    struct fab_policy policy = s->view->policy;
    const struct fab_route_input in = {
        .fabric = fabric, .policy = &policy, .lids = lids, .flawed = &r->flawed};
    policy.lane_sets = r->lane_sets;
    uint64_t start = clock_now_us();
    r->why[0] = '\0';
    r->status = r->engine->run(&in, &r->lft, &r->vls, r->why, sizeof r->why);
    r->route_us = clock_now_us() - start;
    return r->status;
}

bool report_make(struct report *r, struct study *s, const struct measure *m,
                 const struct fab_fabric *fabric, const struct fab_lids *lids)
{
    int rc = route(r, s, fabric, lids);
    if (rc < 0 && rc != FAB_E_UNSUPPORTED)
        study_fail(s, rc, "an engine could not be tried");
    if (rc < 0)
        return rc == FAB_E_UNSUPPORTED;
    return report_judge(r, s, m, fabric, lids);
}

static bool prove(struct report *r, struct study *s, const struct fab_fabric *fabric,
                  const struct fab_lids *lids)
{
    const struct fab_verify_input in = {.fabric = fabric,
                                        .lids = lids,
                                        .lft = &r->lft,
                                        .max_hops = s->view->policy.max_hops,
                                        .vls = &r->vls,
                                        .policy = &s->view->policy};
    uint64_t start = clock_now_us();
    int rc = fab_verify(&in, &r->verdict);
    r->verify_us += clock_now_us() - start;
    if (rc < 0)
        study_fail(s, rc, "the tables could not be judged");
    return rc == FAB_OK;
}

bool report_judge(struct report *r, struct study *s, const struct measure *m,
                  const struct fab_fabric *fabric, const struct fab_lids *lids)
{
    return prove(r, s, fabric, lids) && measure_quality(m, s, fabric, lids, &r->lft, &r->quality);
}

bool report_good(const struct report *r)
{
    return r->status == FAB_OK && fab_verify_verdict_good(&r->verdict);
}

bool report_compose(struct report *r, struct study *s, const struct fab_fabric *fabric,
                    const struct fab_lids *lids)
{
    const struct fab_policy *policy = &s->view->policy;
    uint32_t weakest;
    if (fab_policy_classes_count(policy->classes) < 2)
        return true;
    uint8_t vls = fab_route_vls_available(fabric, policy, &weakest);
    int rc = fab_qos_compose(policy->classes, vls, &r->vls, &r->classes);
    if (rc < 0) {
        study_fail(s, rc, "traffic classes could not be given lanes");
        return false;
    }
    fab_verify_verdict_fini(&r->verdict);
    return prove(r, s, fabric, lids);
}

void report_fini(struct report *r)
{
    fab_verify_verdict_fini(&r->verdict);
    fab_target_lft_fini(&r->lft);
    fab_target_vls_fini(&r->vls);
    *r = (struct report){0};
}
