/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements GetAffectedJobs: finds the jobs of a scheduler that a fault affects.
 *
 * Links and hosts that are gone are not in the view. The study therefore first makes a fabric that
 * also has them (fab_fabric_restore), and looks up all names in this fabric. The tables have no
 * path over a link that is gone. For an ISL that is gone or down, the study counts the pairs whose
 * paths pass a switch at one of its ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/job.pb-c.h"
#include "fabricd/rpc/answer.h"
#include "fabricd/rpc/failures.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/lost.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/host_list.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/hosts/hosts.h"
#include "libfabmgr/study/job_paths.h"

struct job {
    char id[64];
    struct name_list lists; /* lists of the job's hosts, as in the request */
    uint32_t hosts, endports, absent, lost, unknown;
    uint32_t *lost_hosts; /* [lost_host_count] indices of the lost hosts in job_study.hosts */
    uint32_t lost_host_count;
    char unknown_hosts[RPC_UNKNOWN_SHOWN][80];
    struct fab_job_paths paths;
};
struct job_study {
    struct study study;
    struct name_list failures;
    struct job *jobs; /* [job_count] the jobs in the request */
    size_t job_count;
    struct fab_lost lost;
    /* the fabric with the nodes and links that are gone, and the hosts of this fabric */
    struct fab_fabric *whole;
    struct fab_hosts hosts;
    uint32_t *by_short; /* [hosts.count] indices of the hosts, sorted by host name without domain */
    uint64_t *cut;      /* bitset of the ports of failed links, by their ids in `whole` */
    uint64_t *failed;   /* bitset of the ports of failed links, by their ids in the view */
    /* bitset of the switches at the ends of those failed ISLs that are down, by their ids in the
     * view */
    uint64_t *near;
    uint32_t *ends; /* the endports of the job that is examined now, by their ids in the view */
    /* bitset of the endports of the job that is examined now, by their ids in `whole` */
    uint64_t *seen;
    uint32_t links, down;
};

/* ---- the fault ------------------------------------------------------------------------------- */

/* Returns the id in the view of a port of j->whole; FAB_NONE: the view does not have the port. */
static uint32_t in_view(const struct job_study *j, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(j->whole, port);
    const struct fab_fabric *f = j->study.view->fabric;
    uint32_t node = fab_fabric_node_by_guid(f, j->whole->nodes[p->node].guid);
    return node != FAB_NONE && p->num <= f->nodes[node].num_ports
               ? f->nodes[node].first_port + p->num
               : FAB_NONE;
}

static bool is_up(const struct job_study *j, uint32_t port)
{
    const struct fab_fabric *f = j->study.view->fabric;
    return port != FAB_NONE && fab_fabric_port_is_up(f, port) &&
           fab_fabric_port(f, port)->peer != FAB_NONE;
}

static int add_link(void *ctx, uint32_t port)
{
    struct job_study *j = ctx;
    const struct fab_fabric *f = j->study.view->fabric;
    const uint32_t end[2] = {port, fab_fabric_port(j->whole, port)->peer};
    const struct fab_fabric *w = j->whole;
    bool down = false, isl = fab_fabric_node_is_switch(w, fab_fabric_port(w, port)->node);
    if (end[1] == FAB_NONE || fab_base_bits_get(j->cut, port))
        return FAB_OK;
    isl = isl && fab_fabric_node_is_switch(w, fab_fabric_port(w, end[1])->node);
    for (int i = 0; i < 2; i++)
        down |= !is_up(j, in_view(j, end[i]));
    for (int i = 0; i < 2; i++) {
        uint32_t here = in_view(j, end[i]);
        fab_base_bits_set(j->cut, end[i]);
        if (here == FAB_NONE)
            continue;
        fab_base_bits_set(j->failed, here);
        if (down && isl)
            fab_base_bits_set(j->near, fab_fabric_port(f, here)->node);
    }
    j->links++;
    j->down += down;
    return FAB_OK;
}

static bool find_failures(struct job_study *j)
{
    const struct fab_view whole = {.fabric = j->whole, .policy = j->study.view->policy};
    const struct failures f = {.view = &whole,
                               .hosts = &j->hosts,
                               .no_link = "has and had no link",
                               .add = add_link,
                               .ctx = j};
    return failures_find(&f, &j->failures, &j->study);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* Compares two host names without their domains: only the parts before the first dots. */
static int compare_short(const char *a, const char *b)
{
    size_t len[2] = {strcspn(a, "."), strcspn(b, ".")};
    int order = memcmp(a, b, len[0] < len[1] ? len[0] : len[1]);
    return order != 0 ? order : (len[0] > len[1]) - (len[0] < len[1]);
}

static int by_short_name(const void *a, const void *b, void *hosts)
{
    const struct fab_hosts *h = hosts;
    return compare_short(h->hosts[*(const uint32_t *)a].name, h->hosts[*(const uint32_t *)b].name);
}

static uint32_t find_host(const struct job_study *j, const char *name)
{
    uint32_t found = fab_hosts_by_name(&j->hosts, name), low = 0, high = j->hosts.count;
    while (found == FAB_NONE && low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = compare_short(name, j->hosts.hosts[j->by_short[mid]].name);
        if (order == 0)
            found = j->by_short[mid];
        else if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return found;
}

/* the state of looking up the hosts of one job */
struct looking {
    struct job_study *j;
    struct job *job;
    uint32_t live; /* number of endports of the job that were stored in j->ends so far */
    size_t lost_room;
};

static int add_lost_host(struct looking *l, uint32_t host)
{
    struct job *job = l->job;
    if (job->lost_host_count == RPC_LOST_SHOWN ||
        (job->lost_host_count > 0 && job->lost_hosts[job->lost_host_count - 1] == host))
        return FAB_OK;
    uint32_t *grown =
        fab_base_grow(job->lost_hosts, sizeof *grown, job->lost_host_count + 1, &l->lost_room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    job->lost_hosts = grown;
    grown[job->lost_host_count++] = host;
    return FAB_OK;
}

static int add_endport(struct looking *l, uint32_t host, uint32_t port)
{
    struct job_study *j = l->j;
    uint32_t here = in_view(j, port);
    bool live =
        is_up(j, here) && j->study.view->target->lids.base[here] != 0 &&
        fab_fabric_peer_node(j->study.view->fabric, here) < j->study.view->fabric->switch_count;
    l->job->endports++;
    if (live)
        j->ends[l->live++] = here;
    if (!fab_base_bits_get(j->cut, port)) {
        l->job->absent += !live;
        return FAB_OK;
    }
    l->job->lost++;
    return add_lost_host(l, host);
}

static int add_host(void *ctx, const char *name)
{
    struct looking *l = ctx;
    struct job_study *j = l->j;
    uint32_t host = find_host(j, name);
    if (study_stopped(&j->study))
        return FAB_E_BUSY;
    if (host == FAB_NONE) {
        if (l->job->unknown < RPC_UNKNOWN_SHOWN)
            snprintf(l->job->unknown_hosts[l->job->unknown], sizeof l->job->unknown_hosts[0],
                     "%.79s", name);
        l->job->unknown++;
        return FAB_OK;
    }
    const struct fab_host *h = &j->hosts.hosts[host];
    bool first = true;
    for (uint32_t i = 0; i < h->count; i++) {
        const struct fab_node *n = &j->whole->nodes[j->hosts.adapters[h->first + i].node];
        for (uint32_t k = 1; k <= n->num_ports; k++) {
            uint32_t port = n->first_port + k;
            if (fab_fabric_port(j->whole, port)->peer == FAB_NONE ||
                !fab_base_bits_add(j->seen, port))
                continue;
            l->job->hosts += first;
            first = false;
            int rc = add_endport(l, host, port);
            if (rc != FAB_OK)
                return rc;
        }
    }
    return FAB_OK;
}

/* ---- on the worker thread -------------------------------------------------------------------- */

static int look_at(struct job_study *j, struct job *job)
{
    struct looking l = {.j = j, .job = job};
    const struct fab_target *t = j->study.view->target;
    int rc = FAB_OK;
    fab_base_bits_zero(j->seen, j->whole->port_count);
    for (size_t i = 0; i < job->lists.count && rc == FAB_OK; i++)
        rc = fab_base_host_list_each(job->lists.name[i], add_host, &l);
    const struct fab_job_paths_input in = {.fabric = j->study.view->fabric,
                                           .lids = &t->lids,
                                           .lft = &t->lft,
                                           .failed = j->failed,
                                           .near = j->near,
                                           .ends = j->ends,
                                           .end_count = l.live,
                                           .stopped = study_stopped,
                                           .stopped_ctx = &j->study};
    return rc == FAB_OK ? fab_study_job_paths(&in, &job->paths) : rc;
}

static int prepare(struct job_study *j)
{
    const struct fab_view *v = j->study.view;
    int rc = fab_fabric_restore(v->fabric, &j->lost, &j->whole);
    if (rc == FAB_OK)
        rc = fab_hosts_find(j->whole, v->policy.locations, &j->hosts);
    if (rc != FAB_OK)
        return rc;
    j->by_short = fab_base_alloc_array(j->hosts.count + 1, sizeof *j->by_short);
    j->ends = fab_base_alloc_array(v->fabric->port_count + 1, sizeof *j->ends);
    j->cut = fab_base_bits_new(j->whole->port_count);
    j->seen = fab_base_bits_new(j->whole->port_count);
    j->failed = fab_base_bits_new(v->fabric->port_count);
    j->near = fab_base_bits_new(v->fabric->switch_count);
    if (j->by_short == NULL || j->ends == NULL || j->cut == NULL || j->seen == NULL ||
        j->failed == NULL || j->near == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < j->hosts.count; i++)
        j->by_short[i] = i;
    qsort_r(j->by_short, j->hosts.count, sizeof *j->by_short, by_short_name, &j->hosts);
    return FAB_OK;
}

static void work(struct study *s)
{
    struct job_study *j = (struct job_study *)s;
    int rc = prepare(j);
    if (rc == FAB_OK && !find_failures(j))
        return;
    for (size_t i = 0; i < j->job_count && rc == FAB_OK; i++)
        rc = look_at(j, &j->jobs[i]);
    if (rc == FAB_E_LIMIT) {
        s->code = FAB_GRPC_INVALID_ARGUMENT;
        snprintf(s->why, sizeof s->why,
                 "a list of hosts has more than %u names, or a name of more than 255 bytes",
                 FAB_HOST_LIST_MAX);
    } else if (rc < 0) {
        study_fail(s, rc, "the jobs could not be compared with the fault");
    }
}

/* ---- on the loop thread ---------------------------------------------------------------------- */

static Fabric__V1__JobImpact *convert_job(struct answer *a, const struct job_study *j,
                                          const struct job *job)
{
    Fabric__V1__JobImpact *m = ANSWER_NEW(a, Fabric__V1__JobImpact, fabric__v1__job_impact);
    uint32_t unknown = job->unknown < RPC_UNKNOWN_SHOWN ? job->unknown : RPC_UNKNOWN_SHOWN;
    if (m == NULL)
        return NULL;
    m->id = answer_text(a, job->id);
    m->hosts = job->hosts;
    m->endports = job->endports;
    m->lost_endports = job->lost;
    m->absent_endports = job->absent;
    m->unknown_host_count = job->unknown;
    m->pairs = job->paths.pairs;
    m->hit_pairs = job->paths.hit;
    m->near_pairs = job->paths.near;
    m->lost_hosts = answer_alloc(a, job->lost_host_count, sizeof *m->lost_hosts);
    m->unknown_hosts = answer_alloc(a, unknown, sizeof *m->unknown_hosts);
    for (uint32_t i = 0; m->lost_hosts != NULL && i < job->lost_host_count; i++)
        m->lost_hosts[m->n_lost_hosts++] = answer_text(a, j->hosts.hosts[job->lost_hosts[i]].name);
    for (uint32_t i = 0; m->unknown_hosts != NULL && i < unknown; i++)
        m->unknown_hosts[m->n_unknown_hosts++] = answer_text(a, job->unknown_hosts[i]);
    return m;
}

static bool tell(struct study *s)
{
    const struct job_study *j = (const struct job_study *)s;
    Fabric__V1__GetAffectedJobsResponse m = FABRIC__V1__GET_AFFECTED_JOBS_RESPONSE__INIT;
    struct answer a = {0};
    m.generation = s->view->generation;
    m.links = j->links;
    m.links_down = j->down;
    m.jobs = answer_alloc(&a, j->job_count, sizeof *m.jobs);
    for (size_t i = 0; m.jobs != NULL && i < j->job_count; i++)
        m.jobs[m.n_jobs++] = convert_job(&a, j, &j->jobs[i]);
    answer_reply(&a, s->call, &m.base);
    return false;
}

static void job_study_free(struct study *s)
{
    struct job_study *j = (struct job_study *)s;
    for (size_t i = 0; i < j->job_count; i++) {
        name_list_fini(&j->jobs[i].lists);
        free(j->jobs[i].lost_hosts);
    }
    name_list_fini(&j->failures);
    fab_fabric_lost_fini(&j->lost);
    fab_hosts_fini(&j->hosts);
    fab_fabric_unref(j->whole);
    free(j->by_short);
    free(j->cut);
    free(j->failed);
    free(j->near);
    free(j->ends);
    free(j->seen);
    free(j->jobs);
    free(j);
}

/* ---- the request ----------------------------------------------------------------------------- */

static bool is_acceptable(struct call *c, const Fabric__V1__GetAffectedJobsRequest *q)
{
    if (q->n_failures == 0 || q->n_failures > RPC_FAILURES_MAX)
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "%zu failures are named; 1 to %u are accepted",
                    q->n_failures, RPC_FAILURES_MAX);
    else if (q->n_jobs > RPC_JOBS_MAX)
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "%zu jobs are named; at most %u are accepted",
                    q->n_jobs, RPC_JOBS_MAX);
    else
        return true;
    return false;
}

static int read_jobs(struct job_study *j, struct call *c,
                     const Fabric__V1__GetAffectedJobsRequest *q)
{
    j->jobs = calloc(q->n_jobs + 1, sizeof *j->jobs);
    int rc =
        j->jobs != NULL ? name_list_copy(&j->failures, q->failures, q->n_failures) : FAB_E_NOMEM;
    for (; rc == FAB_OK && j->job_count < q->n_jobs; j->job_count++) {
        const Fabric__V1__Job *from = q->jobs[j->job_count];
        struct job *to = &j->jobs[j->job_count];
        if (strlen(from->id) >= sizeof to->id) {
            call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                        "the job \"%.80s\" has a name of more than 63 bytes", from->id);
            return FAB_E_INVAL;
        }
        snprintf(to->id, sizeof to->id, "%s", from->id);
        rc = name_list_copy(&to->lists, from->hosts, from->n_hosts);
    }
    if (rc == FAB_OK)
        rc = lost_read(call_rpc(c)->in.store, &j->lost);
    if (rc != FAB_OK)
        call_finish(c, fab_grpc_code_of(rc), "the jobs could not be read: %s",
                    fab_base_status_text(rc));
    return rc;
}

void get_affected_jobs(struct call *c, const void *request)
{
    static const struct study_kind kind = {work, tell, job_study_free, "fewer jobs"};
    const Fabric__V1__GetAffectedJobsRequest *q = request;
    struct fab_view *v = need_target(c);
    if (v == NULL || !is_acceptable(c, q))
        return;
    struct job_study *j = calloc(1, sizeof *j);
    if (j == NULL)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    else if (read_jobs(j, c, q) == FAB_OK)
        study_start(c, v, &kind, &j->study);
    else
        job_study_free(&j->study);
}
