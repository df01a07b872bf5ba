/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake of the subnet manager. It implements the interface of sm.h on a generated fabric, and
 * answers after a delay that the test chooses. So the RPC server can be tested alone, and in
 * situations that are rare with a real manager: floods of events, requests that never end, no view
 * yet.
 */
#include "tests/rpc/fake_sm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/events.h"
#include "fabricd/pm/pm.h"
#include "libfabmgr/address/address.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/baseline_names.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/policy/pins.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/target/choice.h"

#define WAITING 64

struct waiting {
    struct sm *sm;
    struct loop_timer *timer;
    sm_done *done;
    void *ctx; /* NULL: this slot for a delayed request is free */
};

static int later(struct sm *s, sm_done *done, void *ctx);

struct sm {
    struct sm_input in;
    struct fab_repair *repair;
    struct fab_repair_contingencies ahead;
    struct fake_sm how;
    struct fab_view *view;
    struct fab_mcast_groups *groups;
    struct waiting waiting[WAITING];
    uint64_t sweeps;
    struct fab_baseline *baseline;
    struct sm_unapproved *unapproved;
    uint32_t unapproved_count;
    struct fab_pins *pins;
};

static int all_active(struct fab_fabric *f, struct fab_fabric **ret)
{
    struct fab_fabric *copy = NULL;
    int rc = fab_fabric_clone(f, &copy);
    fab_fabric_unref(f);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < copy->port_count; i++)
        if (fab_fabric_edit_port(copy, i)->peer != FAB_NONE)
            fab_fabric_edit_port(copy, i)->info.port_state = FAB_STATE_ACTIVE;
    *ret = copy;
    return FAB_OK;
}

static int make_fabric(const struct fake_sm *how, struct fab_fabric **ret)
{
    const struct fab_leaf_spine_spec spec = {.leaves = how->leaves,
                                             .spines = how->spines,
                                             .hosts_per_leaf = how->hosts_per_leaf,
                                             .parallel = 1};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    int rc = fab_fabric_generate_leaf_spine(&spec, &b);
    if (rc == FAB_OK)
        rc = fab_fabric_builder_seal(b, &f);
    fab_fabric_builder_free(b);
    return rc < 0 ? rc : all_active(f, ret);
}

/* Records how the engine was chosen: one engine does not support the fabric, and another one has
 * better tables. */
static int record_choice(struct fab_target *t, const char *why)
{
    t->choice = fab_target_choice_new();
    if (t->choice == NULL)
        return FAB_E_NOMEM;
    fab_target_choice_add(t->choice, "fattree", FAB_CHOICE_REFUSED, "a test");
    struct fab_choice_row *row =
        fab_target_choice_add(t->choice, "updn", FAB_CHOICE_NOT_BETTER, why);
    row->lanes = 1;
    row->time_us = 1500;
    row->measured = true;
    row->figures = (struct fab_choice_figures){15, 1.5, 120, 4, 2.25, 0.625, 0.75};
    row = fab_target_choice_add(t->choice, "updn", FAB_CHOICE_TAKEN, why);
    row->lanes = 1;
    row->searched = true;
    row->time_us = 2500;
    row->measured = true;
    row->figures = (struct fab_choice_figures){12.5, 1.25, 110, 3, 2, 0.75, 0.875};
    fab_target_choice_sentence(t->choice, t->reason, sizeof t->reason);
    return FAB_OK;
}

static int make_tables(const struct fab_fabric *f, const struct fab_policy *p, struct fab_target *t,
                       struct fab_verdict *ret_verdict)
{
    struct fab_address_note *notes = NULL;
    size_t note_count = 0;
    char why[200];
    const struct fab_address_input address = {.fabric = f, .policy = p};
    int rc = fab_address_assign(&address, &t->lids, &notes, &note_count);
    free(notes);
    if (rc < 0)
        return rc;
    const struct fab_route_input route = {.fabric = f, .policy = p, .lids = &t->lids};
    rc = fab_route_engine_by_name("updn")->run(&route, &t->lft, &t->vls, why, sizeof why);
    if (rc < 0)
        return rc;
    snprintf(t->engine, sizeof t->engine, "updn");
    if (record_choice(t, why) < 0)
        return FAB_E_NOMEM;
    const struct fab_verify_input verify = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls, .max_hops = 64};
    return fab_verify(&verify, ret_verdict);
}

static struct fab_view *make_view(const struct fake_sm *how)
{
    struct fab_fabric *f = NULL;
    struct fab_target *t = fab_target_new();
    struct fab_policy p;
    struct fab_verdict verdict = {0};
    fab_policy_defaults(&p);
    if (t == NULL || make_fabric(how, &f) < 0 || make_tables(f, &p, t, &verdict) < 0)
        return NULL;
    if (getenv("WITNESS") != NULL)
        verdict.witness.kind = atoi(getenv("WITNESS"));
    if (getenv("NO_TABLES") == NULL)
        return fab_view_new(1, f, t, &p, &verdict);
    fab_target_unref(t);
    return fab_view_new(1, f, NULL, &p, &verdict);
}

/* Computes the contingencies of the fabric. Only the first half of them get repair plans. */
static int look_ahead(struct sm *s)
{
    const struct fab_target *t = s->view->target;
    struct fab_repair_contingency_maker *m = NULL;
    struct fab_repair_contingency c;
    char why[200];
    const struct fab_repair_input in = {s->view->fabric, &s->view->policy, &t->lids, &t->lft,
                                        &t->vls};
    int rc = fab_repair_new(&in, &s->repair, why, sizeof why);
    if (rc == FAB_OK)
        rc = fab_repair_contingency_begin(s->repair, &m);
    if (rc < 0)
        return rc;
    fab_repair_contingency_set_tables(m, &t->lft);
    rc = fab_repair_contingencies_init(&s->ahead, s->repair);
    while (fab_repair_contingency_prepare(m))
        ;
    while (rc == FAB_OK &&
           fab_repair_contingency_next(m, s->ahead.count < fab_repair_contingency_cases(m) / 2,
                                       &c) == FAB_OK)
        fab_repair_contingencies_add(&s->ahead, &c);
    fab_repair_contingency_end(m);
    return rc;
}

/* Makes one multicast group with two members. */
static int make_groups(struct sm *s)
{
    const struct fab_fabric *f = s->view->fabric;
    const struct fab_wire_mc_member_record is = {
        .mgid = {UINT64_C(0xff12401bffff0000), UINT32_MAX}, .pkey = 0xffff, .mtu = 4, .rate = 3};
    int rc = fab_mcast_groups_new(f, &s->groups);
    if (rc == FAB_OK)
        rc = fab_mcast_groups_restore(s->groups, &is);
    for (uint32_t i = 0; rc == FAB_OK && i < 2; i++) {
        const struct fab_mcast_member member = {
            .gid = {UINT64_C(0xfe80000000000000),
                    fab_fabric_port(f, f->nodes[f->switch_count + i].first_port + 1)->guid},
            .join_state = FAB_JOIN_FULL};
        rc = fab_mcast_groups_restore_member(s->groups, is.mgid, &member);
    }
    return rc;
}

/* Pins the names of host-0001, of a host that left the fabric, and of two adapters with the same
 * name. Also makes nodes that wait for an approval, one for each reason of enum fab_pin_wait. One
 * of these nodes has a pinned name. */
static int make_pins(struct sm *s)
{
    const uint64_t host = 0x0002c90200000000;
    const struct fab_pin pin[] = {
        {.guid = host, .name = "host-0001", .since_us = 1795179476000000},
        {.guid = host + 4, .name = "old-0002 mlx5_0", .by = "uid 7", .since_us = 1795179476000001},
        {.guid = 0x0002c9ff00000001, .name = "twin mlx5_0", .since_us = 1795179477000000},
        {.guid = 0x0002c9ff00000002, .name = "twin mlx5_1", .since_us = 1795179478000000}};
    const struct fab_pin_waiting waiting[] = {
        {.guid = host + 4, .name = "host-0002", .since_us = 1795179480000000},
        {.guid = host + 8,
         .name = "host-0003",
         .reason = FAB_PIN_HELD,
         .holder = host,
         .since_us = 1795179481000000},
        {.guid = host + 12,
         .name = "host-0004",
         .reason = FAB_PIN_NEW,
         .since_us = 1795179482000000},
        {.guid = 0x0002c9ff00000003,
         .name = "gone",
         .reason = FAB_PIN_FULL,
         .since_us = 1795179483000000}};
    return fab_policy_pins_new(pin, 4, waiting, 4, false, &s->pins);
}

int fake_sm_new(const struct sm_input *in, const struct fake_sm *how, struct sm **ret)
{
    struct sm *s = calloc(1, sizeof *s);
    if (s == NULL)
        return FAB_E_NOMEM;
    s->in = *in;
    s->how = *how;
    s->view = how->leaves > 0 ? make_view(how) : NULL;
    *ret = s;
    if (how->leaves > 0 && s->view == NULL)
        return FAB_E_NOMEM;
    int rc = how->leaves > 0 ? make_groups(s) : FAB_OK;
    if (rc == FAB_OK)
        rc = make_pins(s);
    bool routed = s->view != NULL && s->view->target != NULL;
    return rc == FAB_OK && routed && how->leaves < 64 ? look_ahead(s) : rc;
}

void sm_free(struct sm *s)
{
    for (size_t i = 0; i < WAITING; i++)
        loop_timer_free(s->waiting[i].timer);
    fab_repair_contingencies_fini(&s->ahead);
    fab_repair_free(s->repair);
    fab_mcast_groups_free(s->groups);
    fab_view_unref(s->view);
    fab_discover_baseline_unref(s->baseline);
    free(s->unapproved);
    fab_policy_pins_unref(s->pins);
    free(s);
}

/* Returns the number of unresponsive ports that the test wants: the environment variable
 * UNRESPONSIVE, by default 1. */
static uint32_t unresponsive(void)
{
    const char *text = getenv("UNRESPONSIVE");
    return text != NULL ? (uint32_t)atoi(text) : 1;
}

/* Returns the error with which the test wants requests to be refused: the environment variable
 * REFUSE, by default none. */
static int refusal(void)
{
    const char *text = getenv("REFUSE");
    return text != NULL ? atoi(text) : FAB_OK;
}

void sm_get_status(const struct sm *s, struct sm_status *ret)
{
    const char *alarm = getenv("ALARM");
    *ret = (struct sm_status){
        .role = getenv("STANDBY") != NULL ? FAB_SM_STANDBY : FAB_SM_MASTER,
        .state = s->view != NULL ? "idle" : "discovering",
        .generation = s->view != NULL ? s->view->generation : 0,
        .sweeps = s->sweeps,
        .last_sweep_us = 12345,
        .smps_sent = 678,
        .window = 16,
        .unresponsive = unresponsive(),
        .master_lid = 1,
        .master_guid = 0x0002c90300000001,
        .uptime_us = 90061000000,
        .polish = getenv("POLISH") != NULL ? getenv("POLISH") : "",
    };
    snprintf(ret->alarm, sizeof ret->alarm, "%s", alarm != NULL ? alarm : "");
}

struct fab_census sm_census(struct sm *s)
{
    struct fab_census census = {0};
    if (s->view != NULL)
        fab_fabric_count(s->view->fabric, &census);
    return census;
}

const struct fab_mcast_groups *sm_mgroups(const struct sm *s)
{
    return s->groups;
}

void sm_get_multicast(const struct sm *s, struct sm_multicast_status *ret)
{
    *ret = (struct sm_multicast_status){.groups = s->groups != NULL};
}

int sm_copy_mfts(const struct sm *s, struct sm_mft_copy **ret)
{
    (void)s;
    (void)ret;
    return FAB_E_NOT_FOUND;
}

void sm_mft_copy_free(struct sm_mft_copy *c)
{
    (void)c;
}

int sm_mft_copy_verify(const struct sm_mft_copy *c, const struct fab_verify_input *unicast,
                       struct fab_multicast_verdict *ret)
{
    (void)c;
    (void)unicast;
    (void)ret;
    return FAB_E_NOT_FOUND;
}

int sm_mft_copy_text(const struct sm_mft_copy *c, const struct fab_multicast_verdict *v,
                     char **ret_text)
{
    (void)c;
    (void)v;
    (void)ret_text;
    return FAB_E_NOT_FOUND;
}

struct fab_view *sm_view(const struct sm *s)
{
    return s->view != NULL ? fab_view_ref(s->view) : NULL;
}

struct fab_view *sm_view_to_show(const struct sm *s)
{
    return sm_view(s);
}

/* Returns records of reroutes for the generations 300 down to 3, newest first. The records are
 * equal except for the generation. */
uint32_t sm_reroutes(const struct sm *s, uint64_t before, struct reroute *ret, uint32_t max)
{
    uint32_t count = 0;
    (void)s;
    for (uint64_t g = 300; g >= 3 && count < max; g--) {
        if (before != 0 && g >= before)
            continue;
        ret[count++] = (struct reroute){.generation = g,
                                        .time_us = 1795179476000000,
                                        .cause = "trap 128 from leaf-001",
                                        .engine = "updn",
                                        .known_us = 400,
                                        .computed_us = 700,
                                        .proved_us = 900,
                                        .first_write_us = 1000,
                                        .last_write_us = 2500,
                                        .entries = 12,
                                        .blocks = 4,
                                        .switches = 3,
                                        .links_lost = 1};
    }
    return count;
}

/* Returns one flapping link, at port 3 of leaf-001. In this fake, ReleaseLink succeeds only at port
 * 3. */
uint32_t sm_flapping(const struct sm *s, struct sm_flapping *ret, uint32_t max)
{
    (void)s;
    if (max > 0)
        *ret = (struct sm_flapping){.guid = {0x0002c90100000001, 0x0002c90100000005},
                                    .port = {3, 1},
                                    .place = {"leaf-001/3", "spine-001/1"},
                                    .flaps = 7,
                                    .flapping = true,
                                    .held_down = true,
                                    .up = true,
                                    .hold_us = 20000000,
                                    .due_us = 1795179496000000,
                                    .flap_us = {1795179476000000, 1795179475000000},
                                    .flap_time_count = 2};
    return 1;
}

void sm_get_key_status(const struct sm *s, struct sm_key_status *ret)
{
    (void)s;
    *ret = (struct sm_key_status){.set = true,
                                  .generated = true,
                                  .generation = 3,
                                  .since_s = 1767225600,
                                  .has_previous = true,
                                  .ports = 33,
                                  .current = 32,
                                  .previous = 1,
                                  .absent = 2,
                                  .names = "leaf-001"};
}

uint32_t sm_others(const struct sm *s, struct fab_sm_info *ret, uint32_t max)
{
    (void)s, (void)ret, (void)max;
    return 0;
}

void sm_get_ha_status(const struct sm *s, struct sm_ha_status *ret)
{
    (void)s;
    *ret = (struct sm_ha_status){.state = FAB_SM_MASTER,
                                 .priority = 3,
                                 .own_priority = 3,
                                 .set_priority = 5,
                                 .guid = 0x10,
                                 .master_guid = 0x10,
                                 .since_us = INT64_C(1767225600000000),
                                 .why = "no other manager is master or has precedence"};
}

bool sm_lacks_decisions(struct sm *s)
{
    (void)s;
    return false;
}

/* Returns two managers: one in standby that is trusted and to which no hand-over takes place for a
 * minute, and one that is not trusted. */
uint32_t sm_managers(const struct sm *s, struct sm_manager *ret, uint32_t max)
{
    (void)s;
    if (max < 2)
        return 0;
    ret[0] = (struct sm_manager){.guid = 0x20,
                                 .node_guid = 0x1f,
                                 .name = "host-0002",
                                 .place = "leaf-001/2",
                                 .lid = 9,
                                 .priority = 4,
                                 .state = FAB_SM_STANDBY,
                                 .trusted = true,
                                 .activity = 77,
                                 .advancing = true,
                                 .silent_us = 1500000,
                                 .held_us = 61000000};
    ret[1] = (struct sm_manager){.guid = 0x30,
                                 .node_guid = 0x2f,
                                 .name = "host-0003",
                                 .place = "leaf-001/3",
                                 .priority = 15,
                                 .state = 9};
    return 2;
}

int sm_hand_over(struct sm *s, uint64_t guid, sm_done *done, void *ctx, char *ret_why, size_t len)
{
    if (guid == 0x30) {
        snprintf(ret_why, len, "the manager at leaf-001/3 is not trusted");
        return FAB_E_DENIED;
    }
    return later(s, done, ctx);
}

/* The dry run of a hand-over: the manager 0x20 would get the role. */
int sm_hand_over_check(const struct sm *s, uint64_t guid, uint64_t *ret_guid, uint8_t *ret_priority,
                       char *ret_why, size_t len)
{
    (void)s;
    if (guid == 0x30) {
        snprintf(ret_why, len, "the manager at leaf-001/3 is not trusted");
        return FAB_E_DENIED;
    }
    *ret_guid = 0x20;
    *ret_priority = guid == 0 ? 2 : 3;
    return FAB_OK;
}

void sm_get_freeze(const struct sm *s, struct sm_freeze_status *ret)
{
    (void)s;
    *ret =
        (struct sm_freeze_status){.mode = SM_REPAIRS_ONLY,
                                  .since_us = INT64_C(1767225600000000),
                                  .until_us = INT64_C(1767229200000000),
                                  .by = "alice (uid 1000)",
                                  .reason = "the cooling is repaired",
                                  .writes = 49,
                                  .blocks = 15,
                                  .switches = 9,
                                  .new_nodes = 1,
                                  .new_links = 4,
                                  .refused = 2,
                                  .postponed = "the set-up of 1 new node, routes over 4 new links",
                                  .confirming = "16 of 52 nodes do not answer"};
}

bool sm_is_frozen(const struct sm *s)
{
    (void)s;
    return false;
}

const char *sm_freeze_mode_name(enum sm_freeze mode)
{
    return mode == SM_NO_WRITES ? "no writes" : mode == SM_REPAIRS_ONLY ? "repairs only" : "normal";
}

int sm_freeze_check(const struct sm *s, enum sm_freeze mode, char *why, size_t why_len)
{
    (void)s;
    snprintf(why, why_len, "49 writes were withheld");
    return mode == SM_NO_WRITES ? FAB_OK : FAB_E_DENIED;
}

int sm_freeze(struct sm *s, enum sm_freeze mode, uint64_t for_us, const char *by,
              const char *reason, char *why, size_t why_len)
{
    (void)for_us, (void)by, (void)reason;
    return sm_freeze_check(s, mode, why, why_len);
}

int sm_resume(struct sm *s, const char *by)
{
    (void)s, (void)by;
    return FAB_OK;
}

int sm_set_priority(struct sm *s, uint8_t priority)
{
    (void)s;
    return priority <= SM_PRIORITY_MAX ? FAB_OK : FAB_E_RANGE;
}

int sm_key_rotate_check(const struct sm *s, bool give_up, char *why, size_t why_len)
{
    if (refusal() < 0)
        return refusal();
    (void)s;
    if (!give_up)
        snprintf(why, why_len, "2 ports outside of the fabric may still have the previous key");
    return give_up ? FAB_OK : FAB_E_EXISTS;
}

int sm_key_rotate(struct sm *s, bool give_up, bool local, char *why, size_t why_len)
{
    (void)local;
    return sm_key_rotate_check(s, give_up, why, why_len);
}

int sm_link_release_check(const struct sm *s, uint64_t node_guid, uint8_t port)
{
    if (refusal() < 0)
        return refusal();
    (void)s, (void)node_guid;
    return port == 3 ? FAB_OK : FAB_E_NOT_FOUND;
}

int sm_link_release(struct sm *s, uint64_t node_guid, uint8_t port, const char *by)
{
    (void)by;
    return sm_link_release_check(s, node_guid, port);
}

/* Returns one isolated link. In this fake, IsolateLink succeeds at port 4 and fails at port 5. */
uint32_t sm_isolations(const struct sm *s, struct sm_isolation *ret, uint32_t max)
{
    (void)s;
    if (max > 0)
        *ret = (struct sm_isolation){.guid = {0x0002c90100000001, 0x0002c90100000005},
                                     .port = {3, 1},
                                     .place = {"leaf-001/3", "spine-001/1"},
                                     .out = true,
                                     .since_us = 1795179476000000,
                                     .cause = "too many symbol errors"};
    return 1;
}

int sm_isolate_check(struct sm *s, const struct store_port *link, size_t count, size_t *ret_link,
                     char *why, size_t why_len)
{
    (void)s, (void)link, (void)count;
    *ret_link = 0;
    snprintf(why, why_len, "%s", "");
    return FAB_OK;
}

int sm_find_guid(const struct sm *s, uint64_t guid)
{
    (void)s, (void)guid;
    return FAB_E_NOT_FOUND;
}

/* Returns the same capacity for all links: leaf-001 has 24 uplinks, and must keep 18 of them. */
int sm_link_capacities(const struct sm *s, struct sm_capacity *list, uint32_t count)
{
    (void)s;
    for (uint32_t i = 0; i < count; i++) {
        list[i].is_uplink = list[i].guid == 0x0002c90100000001;
        snprintf(list[i].name, sizeof(list[i].name), "leaf-001");
        list[i].uplinks = 24;
        list[i].in_use = 20;
        list[i].least = 18;
    }
    return FAB_OK;
}

int sm_link_isolate(struct sm *s, uint64_t node_guid, uint8_t port, bool operated,
                    const char *cause, char *why, size_t why_len)
{
    (void)cause;
    return sm_link_isolate_check(s, node_guid, port, operated, why, why_len);
}

int sm_link_isolate_check(struct sm *s, uint64_t node_guid, uint8_t port, bool operated, char *why,
                          size_t why_len)
{
    if (refusal() < 0)
        return refusal();
    (void)s, (void)node_guid, (void)operated;
    snprintf(why, why_len, "%s",
             port == 5   ? "a rack would be cut off"
             : port == 3 ? "it is isolated already"
                         : "");
    return port == 3 ? FAB_E_EXISTS : port == 4 ? FAB_OK : FAB_E_UNREACHABLE;
}

const char *const sm_drain_kind_name[SM_DRAIN_KINDS] = {"link", "switch", "rack", "pod", "host"};

/* Returns two drains: one of a switch, and one of a host that still sends. */
uint32_t sm_drain_list(const struct sm *s, struct sm_drain_info *ret, uint32_t max)
{
    static const struct sm_drain_info list[2] = {
        {.id = 3,
         .kind = SM_DRAIN_SWITCH,
         .state = SM_DRAIN_DRAINED,
         .name = "spine-001",
         .by = "alice (uid 1000)",
         .reason = "new fan",
         .since_us = 1795179476000000,
         .until_us = 1795186676000000,
         .links = 3},
        {.id = 4,
         .kind = SM_DRAIN_HOST,
         .state = SM_DRAIN_DRAINING,
         .name = "host-0002",
         .by = "bob (uid 1001)",
         .since_us = 1795179536000000,
         .busy = "leaf-001/2",
         .busy_bytes_per_s = 12500000},
    };
    (void)s;
    for (uint32_t i = 0; i < 2 && i < max; i++)
        ret[i] = list[i];
    return 2;
}

bool sm_drain_excludes(const struct sm *s, uint64_t node_guid, uint8_t port)
{
    (void)s, (void)node_guid, (void)port;
    return false;
}

/* No link is excluded from the snapshot. */
bool sm_excluded_peer(const struct sm *s, uint64_t node_guid, uint8_t port, uint64_t *ret_guid,
                      uint8_t *ret_port)
{
    (void)s, (void)node_guid, (void)port, (void)ret_guid, (void)ret_port;
    return false;
}

int sm_drain_preview(const struct fab_view *v, const struct fab_fabric *f,
                     const struct sm_drain_request *q, struct fab_drain *ret, char *why,
                     size_t why_len)
{
    uint64_t *set = calloc(f->switch_count / 64 + 1, sizeof(*set)),
             *none = calloc(f->switch_count / 64 + 1, sizeof(*none));
    uint32_t link = FAB_NONE;
    (void)v, (void)why, (void)why_len;
    for (uint32_t i = 0; set && i < q->nodes; i++) {
        uint32_t node = fab_fabric_node_by_guid(f, q->node[i]);
        if (node < f->switch_count)
            set[node / 64] |= UINT64_C(1) << node % 64;
    }
    if (q->kind == SM_DRAIN_LINK)
        link = fab_fabric_port_id(f, fab_fabric_node_by_guid(f, q->link_guid), q->link_port);
    const struct fab_drain_input in = {.fabric = f,
                                       .switches = set,
                                       .transit = none,
                                       .link = &link,
                                       .link_count = link != FAB_NONE};
    int r = set && none ? fab_health_drain(&in, ret) : FAB_E_NOMEM;
    free(set);
    free(none);
    return r;
}

int sm_drain_refusal(const struct fab_fabric *f, const struct fab_drain *found, char *why,
                     size_t why_len)
{
    (void)f;
    if (found->first_cut == FAB_NONE)
        return FAB_OK;
    snprintf(why, why_len, "a rack would be cut off");
    return FAB_E_UNREACHABLE;
}

int sm_drain_start(struct sm *s, const struct sm_drain_request *q, uint32_t *ret_id, char *why,
                   size_t why_len)
{
    (void)s;
    if (refusal() < 0)
        return refusal();
    if (strcmp(q->name, "leaf-001") == 0) {
        snprintf(why, why_len, "it is drained already ('fabricctl drain list')");
        return FAB_E_EXISTS;
    }
    *ret_id = 3;
    return FAB_OK;
}

int sm_drain_end(struct sm *s, uint32_t id, const char *by)
{
    (void)s, (void)id, (void)by;
    return refusal() < 0 ? refusal() : FAB_OK;
}

bool sm_is_quiet(const struct sm *s)
{
    return s != NULL;
}

/* Returns two links: the isolated link with its counter, and a link whose discards increased by
 * less than the threshold. */
uint32_t pm_links(const struct pm *pm, struct pm_link *ret, uint32_t max)
{
    (void)pm;
    if (max < 2)
        return 2;
    ret[0] =
        (struct pm_link){.end = {{.guid = 0x0002c90100000001, .port = 3, .place = "leaf-001/3"},
                                 {.guid = 0x0002c90100000005, .port = 1, .place = "spine-001/1"}},
                         .unhealthy = true,
                         .of_cable = true,
                         .counter = FAB_SYMBOL_ERRORS,
                         .rise = 120,
                         .span_us = 60000000,
                         .since_us = 1795179470000000};
    struct pm_link_end *e = &ret[0].end[0];
    e->total[FAB_SYMBOL_ERRORS] = 500;
    e->recent[FAB_SYMBOL_ERRORS] = 120;
    e->per_hour[FAB_SYMBOL_ERRORS] = 7200;
    e->history_count = 2;
    e->history[0] = (struct pm_rise){1795179470000000, {[FAB_SYMBOL_ERRORS] = 120}};
    e->history[1] = (struct pm_rise){1795179410000000, {[FAB_SYMBOL_ERRORS] = 380}};
    ret[1] =
        (struct pm_link){.end = {{.guid = 0x0002c90100000002, .port = 3, .place = "leaf-002/3"},
                                 {.guid = 0x0002c90100000005, .port = 2, .place = "spine-001/2"}},
                         .counter = FAB_COUNTERS};
    ret[1].end[1].total[FAB_XMIT_DISCARDS] = 7;
    return 2;
}

bool pm_counters(const struct pm *pm, uint64_t node_guid, uint8_t port, struct pm_counters *ret)
{
    (void)pm;
    if (port == 0)
        return false;
    *ret = (struct pm_counters){.time_us = 1795179470000000};
    if (node_guid == 0x0002c90100000001 && port == 3)
        ret->counters.value[FAB_SYMBOL_ERRORS] = 500;
    return true;
}

int pm_top(const struct pm *pm, enum counters_by by, uint32_t most, struct pm_rates *ret,
           uint32_t *ret_count, uint32_t *ret_ports)
{
    struct pm_rates all[2] = {{.guid = 0x0002c90100000001, .port = 3},
                              {.guid = 0x0002c90100000099, .port = 7}};
    (void)pm;
    for (int i = 0; i < 2; i++) {
        all[i].code[FAB_COLUMN_XMIT_DATA] =
            fab_counters_encode_value(FAB_COLUMN_XMIT_DATA, i == 0 ? 11000000000 : 4000);
        all[i].code[FAB_COLUMN_XMIT_WAIT] = fab_counters_encode_value(FAB_COLUMN_XMIT_WAIT, 70000);
        all[i].code[FAB_COLUMN_ERRORS] = fab_counters_encode_value(FAB_COLUMN_ERRORS, 3);
    }
    *ret_ports = by == COUNTERS_BY_ERRORS ? 2 : 20;
    *ret_count = most < 2 ? most : 2;
    memcpy(ret, all, *ret_count * sizeof *ret);
    return FAB_OK;
}

/* Returns the rates of leaf-001: port 3 sends 11 GB/s, and port 5 sends 1 GB/s. */
bool pm_port_rates(const struct pm *pm, uint64_t node_guid, uint8_t port, struct pm_rates *ret)
{
    (void)pm;
    if (node_guid != 0x0002c90100000001 || (port != 3 && port != 5))
        return false;
    *ret = (struct pm_rates){.guid = node_guid, .port = port};
    ret->code[FAB_COLUMN_XMIT_DATA] =
        fab_counters_encode_value(FAB_COLUMN_XMIT_DATA, port == 3 ? 11000000000 : 1000000000);
    return true;
}

void sm_get_contingencies(const struct sm *s, struct sm_contingencies *ret)
{
    *ret = (struct sm_contingencies){.budget = 1 << 20,
                                     .working = 4711,
                                     .under_way = true,
                                     .rate = 2000,
                                     .rate_measured = true,
                                     .load = 8,
                                     .waits_for = "the background proof"};
    ret->all = s->ahead.network != NULL ? &s->ahead : NULL;
    ret->cases = (uint32_t)s->ahead.cases;
    ret->current = (uint32_t)s->ahead.current;
    ret->kept = 3;
    ret->percent = 25;
    ret->cpu_us = 1234567;
}

void sm_contingency_row(const struct sm *s, const struct fab_repair_contingency *row,
                        struct fab_repair_contingency *ret)
{
    (void)s;
    *ret = *row;
}

const struct fab_repair_contingency *sm_contingency_of(const struct sm *s, bool is_switch,
                                                       uint32_t id)
{
    return is_switch ? fab_repair_contingencies_switch(&s->ahead, id)
                     : fab_repair_contingencies_link(&s->ahead, id);
}

uint32_t sm_unresponsive_ports(const struct sm *s, struct sm_unresponsive *ret, uint32_t max)
{
    (void)s;
    uint32_t count = unresponsive() < max ? unresponsive() : max;
    for (uint32_t i = 0; i < count; i++) {
        snprintf(ret[i].place, sizeof ret[i].place, "behind a port\xff of 'spine-%u'", i + 1);
        ret[i].status = FAB_E_TIMEOUT;
    }
    return count;
}

static void on_time(void *ctx)
{
    struct waiting *w = ctx;
    void *whose = w->ctx;
    w->ctx = NULL;
    w->sm->sweeps++;
    event_emit(w->sm->in.bus, sweep_done, .subject = "fabric", .mads = w->sm->sweeps);
    if (whose != NULL)
        w->done(whose, FAB_OK, "done");
}

static int later(struct sm *s, sm_done *done, void *ctx)
{
    for (size_t i = 0; i < WAITING; i++) {
        struct waiting *w = &s->waiting[i];
        if (w->ctx != NULL)
            continue;
        if (w->timer == NULL)
            w->timer = loop_timer_new(s->in.loop, on_time, w);
        w->sm = s;
        w->done = done;
        w->ctx = ctx;
        loop_timer_set(w->timer, s->how.delay_us);
        return FAB_OK;
    }
    return FAB_E_BUSY;
}

int sm_sweep_check(const struct sm *s)
{
    (void)s;
    return refusal();
}

/* The dry run of a reroute succeeds. The dry run of a rebalance fails, because another dry run is
 * under way. */
int sm_reroute_dry_run(struct sm *s, bool if_better, sm_done *done, void *ctx)
{
    (void)s;
    if (refusal() < 0)
        return refusal();
    if (if_better)
        return FAB_E_BUSY;
    done(ctx, FAB_OK, "a reroute would write 3 entries in 2 blocks on 2 switches");
    return FAB_OK;
}

int sm_sweep(struct sm *s, sm_done *done, void *ctx)
{
    if (refusal() < 0)
        return refusal();
    return later(s, done, ctx);
}

int sm_reroute(struct sm *s, sm_done *done, void *ctx)
{
    if (refusal() < 0)
        return refusal();
    return later(s, done, ctx);
}

int sm_rebalance(struct sm *s, sm_done *done, void *ctx)
{
    if (refusal() < 0)
        return refusal();
    return later(s, done, ctx);
}

int sm_port_set(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, const char *by,
                sm_done *done, void *ctx)
{
    (void)by;
    if (refusal() < 0)
        return refusal();
    (void)node_guid;
    if (port != 1 || enable)
        return later(s, done, ctx);
    done(ctx, FAB_E_DENIED, "the manager would lose its way");
    return FAB_OK;
}

int sm_port_check(const struct sm *s, uint64_t node_guid, uint8_t port, bool enable,
                  const char **ret_why)
{
    (void)s, (void)node_guid;
    *ret_why = port == 1 && !enable && refusal() == FAB_OK ? "the manager would lose its way" : "";
    if (refusal() < 0)
        return refusal();
    return port == 1 && !enable ? FAB_E_DENIED : FAB_OK;
}

bool sm_port_is_disabled(const struct sm *s, uint64_t node_guid, uint8_t port)
{
    (void)s, (void)node_guid, (void)port;
    return false;
}

void sm_forget(struct sm *s, void *ctx)
{
    for (size_t i = 0; i < WAITING; i++) {
        if (s->waiting[i].ctx != ctx)
            continue;
        s->waiting[i].ctx = NULL;
        loop_timer_cancel(s->waiting[i].timer);
    }
}

/* ---- the baseline ---------------------------------------------------------------------------- */

const struct fab_baseline *sm_baseline(const struct sm *s)
{
    return s->baseline;
}

const struct sm_unapproved *sm_unapproved(const struct sm *s, uint32_t *ret_count)
{
    *ret_count = s->unapproved_count;
    return s->unapproved;
}

/* Makes `set` the baseline of devices, and compares the fabric with it. Takes over `set`. */
static int set_baseline(struct sm *s, struct fab_baseline *set)
{
    struct fab_unapproved *list = NULL;
    size_t count = 0;
    fab_discover_baseline_unref(s->baseline);
    s->baseline = set;
    free(s->unapproved);
    s->unapproved = NULL;
    s->unapproved_count = 0;
    int rc =
        set != NULL ? fab_discover_baseline_compare(set, s->view->fabric, &list, &count) : FAB_OK;
    if (rc == FAB_OK)
        s->unapproved = calloc(count + 1, sizeof *s->unapproved);
    for (size_t i = 0; s->unapproved != NULL && i < count; i++)
        s->unapproved[s->unapproved_count++] =
            (struct sm_unapproved){.what = list[i], .since_us = 1000000};
    free(list);
    return rc;
}

static int approve(struct sm *s, const struct fab_place *place, uint32_t count, const char *by)
{
    struct fab_baseline *now = NULL;
    struct fab_approved *list = calloc(count + 1u, sizeof *list);
    int rc = list != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t i = 0; rc == FAB_OK && i < count; i++) {
        list[i] = (struct fab_approved){.place = place[i], .since_us = 2000000};
        snprintf(list[i].by, sizeof list[i].by, "%s", by);
    }
    if (rc == FAB_OK)
        rc = fab_discover_baseline_with(s->baseline, list, count, &now);
    free(list);
    return rc == FAB_OK ? set_baseline(s, now) : rc;
}

/* Reports the end of a change at once, by the callback `done`. If rc is an error, only returns
 * it. */
static int say(int rc, sm_done *done, void *ctx, const char *fmt, uint32_t a, uint32_t b)
{
    char text[160];
    snprintf(text, sizeof text, fmt, a, b);
    if (rc == FAB_OK)
        done(ctx, FAB_OK, text);
    return rc;
}

int sm_baseline_approve(struct sm *s, const struct fab_place *place, uint32_t count, const char *by,
                        sm_done *done, void *ctx)
{
    if (refusal() < 0)
        return refusal();
    int rc = approve(s, place, count, by);
    return say(rc, done, ctx, count == 1 ? "approved %u place" : "approved %u places", count, 0);
}

int sm_baseline_take(struct sm *s, const char *by, sm_done *done, void *ctx)
{
    if (refusal() < 0)
        return refusal();
    const struct fab_fabric *f = s->view->fabric;
    struct fab_place *place = calloc(f->port_count + 1u, sizeof *place);
    uint32_t count = 0, links = 0;
    for (uint32_t p = 0; place != NULL && p < f->port_count; p++)
        count += fab_discover_baseline_place(f, p, &place[count]);
    for (uint32_t i = 0; i < count; i++)
        links += place[i].is_switch;
    int rc = place != NULL ? approve(s, place, count, by) : FAB_E_NOMEM;
    free(place);
    return say(rc, done, ctx,
               "approved %u ports of adapters and routers, and %u links between switches",
               count - links, links);
}

/* Removes nodes from the baseline of devices. dry_run: true: only checks whether this is
 * possible. */
static int disapprove(struct sm *s, char *const *name, uint32_t count, bool dry_run, sm_done *done,
                      void *ctx)
{
    if (refusal() < 0)
        return refusal();
    struct fab_baseline *now = NULL;
    uint64_t *guid = calloc(count + 1u, sizeof *guid);
    size_t wrong;
    char why[160];
    int rc = guid == NULL
                 ? FAB_E_NOMEM
                 : fab_discover_names_find(s->baseline, s->view->fabric, name, count, guid, &wrong);
    if (rc == FAB_E_NOT_FOUND) {
        snprintf(why, sizeof why,
                 "no node \"%.60s\" is approved; 'fabricctl topo baseline' lists those that are",
                 name[wrong]);
        free(guid);
        done(ctx, rc, why);
        return FAB_OK;
    }
    if (rc == FAB_OK && !dry_run)
        rc = fab_discover_baseline_without(s->baseline, guid, count, &now);
    free(guid);
    if (rc == FAB_OK && dry_run)
        return say(rc, done, ctx, "%u nodes would no longer be approved", count, 0);
    rc = rc == FAB_OK ? set_baseline(s, now) : rc;
    return say(rc, done, ctx,
               count == 1 ? "%u node is no longer approved" : "%u nodes are no longer approved",
               count, 0);
}

int sm_baseline_disapprove(struct sm *s, char *const *name, uint32_t count, const char *by,
                           sm_done *done, void *ctx)
{
    (void)by;
    return disapprove(s, name, count, false, done, ctx);
}

int sm_baseline_disapprove_check(struct sm *s, char *const *name, uint32_t count, sm_done *done,
                                 void *ctx)
{
    return disapprove(s, name, count, true, done, ctx);
}

int sm_baseline_clear_check(const struct sm *s)
{
    if (refusal() < 0)
        return refusal();
    return s->baseline != NULL ? FAB_OK : FAB_E_NOT_FOUND;
}

int sm_baseline_clear(struct sm *s, const char *by, sm_done *done, void *ctx)
{
    int rc = sm_baseline_clear_check(s);
    (void)by;
    if (rc != FAB_OK)
        return rc;
    return say(set_baseline(s, NULL), done, ctx,
               "the baseline is dropped; every device is accepted", 0, 0);
}

/* ---- pinned names ---------------------------------------------------------------------------- */

const struct fab_pins *sm_pins(const struct sm *s)
{
    return s->pins;
}

bool sm_pins_are_on(const struct sm *s)
{
    (void)s;
    return getenv("PINS_OFF") == NULL;
}

static int set_pins(struct sm *s, int rc, struct fab_pins *set, sm_done *done, void *ctx)
{
    if (rc < 0)
        return rc;
    fab_policy_pins_unref(s->pins);
    s->pins = set;
    done(ctx, FAB_OK, "the pins have changed");
    return FAB_OK;
}

int sm_pin_approve(struct sm *s, uint64_t guid, const char *by, sm_done *done, void *ctx)
{
    if (refusal() < 0)
        return refusal();
    const struct fab_pin_waiting *w = fab_policy_pins_waiting(s->pins, guid);
    struct fab_pin pin = {.guid = guid, .since_us = 1795179490000000};
    struct fab_pins *set = NULL;
    if (w == NULL)
        return FAB_E_EXISTS;
    memcpy(pin.name, w->name, sizeof pin.name);
    snprintf(pin.by, sizeof pin.by, "%.3s", by);
    int rc = fab_policy_pins_with(s->pins, &pin, &set);
    return set_pins(s, rc, set, done, ctx);
}

int sm_pin_approve_all(struct sm *s, const char *by, uint32_t *ret_count, sm_done *done, void *ctx)
{
    if (refusal() < 0)
        return refusal();
    (void)by;
    struct fab_pins *set = NULL;
    *ret_count = (uint32_t)s->pins->waiting_count;
    if (s->pins->waiting_count == 0)
        return FAB_E_EXISTS;
    int rc = fab_policy_pins_new(s->pins->pin, s->pins->count, NULL, 0, false, &set);
    return set_pins(s, rc, set, done, ctx);
}

int sm_pin_forget(struct sm *s, uint64_t guid, const char *by, sm_done *done, void *ctx)
{
    if (refusal() < 0)
        return refusal();
    (void)by;
    struct fab_pins *set = NULL;
    int rc = fab_policy_pins_without(s->pins, guid, &set);
    return set_pins(s, rc, set, done, ctx);
}
