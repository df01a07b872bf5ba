/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares what the manager writes into devices with golden files in tests/sim/golden. Small
 * fabrics come up in virtual time, with policies that use many features. Then links, switches and
 * settings change, step by step. After each step, the text has every attribute that changed in the
 * devices, the events, the number of MADs by attribute and method, digests of the writes in their
 * order, and answers of subnet administration. UPDATE_GOLDEN=1 rewrites the files.
 */
#include <string.h>
#include <unistd.h>

#include "fabricd/cc/cc.h"
#include "fabricd/sa/sa.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"
#include "libfabmgr/wire/sa.h"
#include "tests/sim/golden_devices.h"
#include "tests/sim/lab.h"
#include "tests/support/golden.h"

#define FOLDER "tests/sim/golden"

enum verb {
    END,
    DOWN, /* pulls the cable at a port */
    UP,   /* plugs in the cable at a port again */
    OFF,  /* switches a node off */
    ON,   /* switches a node on again */
    /* changes the NodeDescription of a node to `text`, so that it sends trap 144 */
    RENAME,
    RELOAD, /* the manager reads the settings file `text` */
    /* The adapter `node` joins a multicast group, whose MGID ends with the number `port`. Without a
     * `text`, it joins as a full member, otherwise as a full member and sender (JoinState 5). */
    JOIN,
    LEAVE, /* the adapter `node` leaves the group */
    /* the adapter `node` requests two alias GUIDs: 0x1000 + `port` at index 2, and any GUID at
     * index 3 */
    ALIAS,
    /* the adapter `node` requests a path record for the adapter `text` */
    PATHS,
    SWEEP,   /* an operator requests a heavy sweep */
    REROUTE, /* an operator requests new tables */
    DISABLE, /* an operator disables a port */
    ENABLE,  /* an operator enables a disabled port */
    RESTART, /* the manager stops, and another manager starts */
    WAIT,    /* the number of seconds is in `port` */
};
static const char *const verbs[] = {"",        "down",    "up",     "off",     "on",      "rename",
                                    "reload",  "join",    "leave",  "alias",   "path of", "sweep",
                                    "reroute", "disable", "enable", "restart", "wait"};

struct step {
    enum verb verb;
    const char *node;
    uint8_t port;
    const char *text;
};
struct scene {
    /* name of the case, and of its files NAME.yaml (settings) and NAME.golden */
    const char *name;
    struct fab_builder *(*fabric)(void);
    bool congestion; /* true: with congestion control */
    struct step steps[16];
};

/* ---- the state of a run ---------------------------------------------------------------------- */

#define KINDS 32
static struct run {
    struct lab lab;
    struct sa *sa;
    struct cc *cc;
    /* transport of the agent of subnet administration */
    struct transport wire;
    uint8_t answer[FAB_MAD_SIZE];
    bool answered;
    struct golden_items before;
    FILE *out;
    FILE *events; /* events since the step began, as text */
    char *event_text;
    size_t event_len;
    /* MADs of one method and attribute that devices got in this step */
    struct kind {
        uint8_t mgmt_class, method;
        uint16_t attr_id;
        uint32_t count;
        /* digest of their destinations, attribute modifiers and contents, in the order of the
         * MADs */
        uint64_t digest;
    } kinds[KINDS];
    unsigned kind_count;
    /* fields of Sets that no device keeps, because they are commands, such as ClientReregister */
    struct golden_items transient;
    char lft_order[160]; /* the first LFT blocks that were written, in their order */
} run;

/* ---- MADs to devices ------------------------------------------------------------------------- */

bool __real_fab_sim_sma_answer(struct fab_sim *s, struct position at, uint16_t slid,
                               const struct fab_mad *mad, uint8_t bytes[FAB_MAD_SIZE]);
bool __wrap_fab_sim_sma_answer(struct fab_sim *s, struct position at, uint16_t slid,
                               const struct fab_mad *mad, uint8_t bytes[FAB_MAD_SIZE]);
bool __real_fab_sim_gsi_answer(struct fab_sim *s, struct position at, const struct fab_mad *mad,
                               uint8_t bytes[FAB_MAD_SIZE]);
bool __wrap_fab_sim_gsi_answer(struct fab_sim *s, struct position at, const struct fab_mad *mad,
                               uint8_t bytes[FAB_MAD_SIZE]);

static void count(struct position at, const struct fab_mad *mad, const uint8_t *data, size_t len)
{
    struct kind *k = run.kinds, *end = k + run.kind_count;
    while (k < end && (k->mgmt_class != mad->mgmt_class || k->method != mad->method ||
                       k->attr_id != mad->attr_id))
        k++;
    if (k == end) {
        ck_assert_uint_lt(run.kind_count, KINDS);
        run.kind_count++;
        *k = (struct kind){mad->mgmt_class, mad->method, mad->attr_id, 0, GOLDEN_HASH};
    }
    k->count++;
    if (mad->method != FAB_METHOD_SET)
        return;
    const uint64_t where[] = {at.node, at.port, mad->attr_mod};
    k->digest = golden_hash_numbers(k->digest, where, 3);
    k->digest = golden_hash(k->digest, data, len);
}

static bool is_no_change(const char *field, size_t len)
{
    return strncmp(field, "LocalPortNum", 12) == 0 || strncmp(field + len - 3, ": 0", 3) == 0 ||
           strncmp(field + len - 8, "NoChange", 8) == 0;
}

/* A Set(PortInfo) has fields that act as commands, such as ClientReregister and PortState. The
 * answer then has another value. Notes all such fields. */
static void note_transient(struct position at, const struct fab_mad *mad, const uint8_t *want,
                           const uint8_t *is)
{
    const struct fab_attr *attr = fab_wire_attr_by_id(mad->attr_id);
    struct fab_port_info x, y;
    static char text[2][4096], differ[4096];
    if (mad->attr_id != FAB_ATTR_PORT_INFO ||
        fab_wire_attr_unpack(attr, want, FAB_SMP_DATA, &x) != FAB_OK ||
        fab_wire_attr_unpack(attr, is, FAB_SMP_DATA, &y) != FAB_OK)
        return;
    (void)fab_wire_attr_print(attr, &x, text[0], sizeof text[0]);
    (void)fab_wire_attr_print(attr, &y, text[1], sizeof text[1]);
    size_t at0 = 0, at1 = 0, len = 0;
    while (text[0][at0] != '\0') {
        size_t n0 = strcspn(text[0] + at0, "\n"), n1 = strcspn(text[1] + at1, "\n");
        if ((n0 != n1 || memcmp(text[0] + at0, text[1] + at1, n0) != 0) &&
            !is_no_change(text[0] + at0, n0))
            len += (size_t)snprintf(differ + len, sizeof differ - len, "%.*s\n", (int)n0,
                                    text[0] + at0);
        at0 += n0 + 1;
        at1 += n1 + 1;
    }
    if (len > 0)
        golden_items_add(&run.transient, "Set(PortInfo)", at.node,
                         (int)(mad->attr_mod & 0xff ? mad->attr_mod & 0xff : at.port),
                         strdup(differ));
}

bool __wrap_fab_sim_sma_answer(struct fab_sim *s, struct position at, uint16_t slid,
                               const struct fab_mad *mad, uint8_t bytes[FAB_MAD_SIZE])
{
    uint8_t want[FAB_SMP_DATA];
    memcpy(want, bytes + SMP_DATA, sizeof want);
    count(at, mad, want, sizeof want);
    bool answers = __real_fab_sim_sma_answer(s, at, slid, mad, bytes);
    size_t len = strlen(run.lft_order);
    if (mad->method != FAB_METHOD_SET)
        return answers;
    if (answers)
        note_transient(at, mad, want, bytes + SMP_DATA);
    if (mad->attr_id == FAB_ATTR_LFT && len < 80)
        snprintf(run.lft_order + len, sizeof run.lft_order - len, " %s:%u",
                 s->fabric->nodes[at.node].desc, mad->attr_mod);
    return answers;
}

bool __wrap_fab_sim_gsi_answer(struct fab_sim *s, struct position at, const struct fab_mad *mad,
                               uint8_t bytes[FAB_MAD_SIZE])
{
    count(at, mad, bytes + FAB_MAD_SIZE - FAB_GS_DATA, FAB_GS_DATA);
    return __real_fab_sim_gsi_answer(s, at, mad, bytes);
}

static const char *attr_name(uint16_t attr_id)
{
    const struct fab_attr *a = fab_wire_attr_by_id(attr_id);
    return attr_id == FAB_ATTR_LFT         ? "LinearForwardingTable"
           : attr_id == FAB_ATTR_MFT       ? "MulticastForwardingTable"
           : attr_id == FAB_ATTR_NODE_DESC ? "NodeDescription"
           : attr_id == FAB_ATTR_GUID_INFO ? "GUIDInfo"
           : a != NULL                     ? a->name
                                           : "attribute";
}

static void print_kinds(void)
{
    for (struct kind *k = run.kinds; k < run.kinds + run.kind_count; k++) {
        bool smp = k->mgmt_class == FAB_CLASS_SMP_LID || k->mgmt_class == FAB_CLASS_SMP_DIRECTED;
        const struct fab_attr *a = smp ? NULL : fab_wire_attr_of_class(k->mgmt_class, k->attr_id);
        fprintf(run.out, "    %s %s%s: %u",
                k->method == FAB_METHOD_SET   ? "Set"
                : k->method == FAB_METHOD_GET ? "Get"
                                              : "other",
                smp         ? attr_name(k->attr_id)
                : a != NULL ? a->name
                            : "attribute",
                k->mgmt_class == FAB_CLASS_SMP_DIRECTED ? " by directed route"
                : smp                                   ? " by LID"
                                                        : "",
                k->count);
        if (k->method == FAB_METHOD_SET)
            fprintf(run.out, ", digest %016" PRIx64, k->digest);
        fputc('\n', run.out);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Prints a text field of an event. If the message of the event contains the text, prints "as above"
 * instead. */
static void print_text(const char *text, const char *message)
{
    if (text[0] != '\0' && strstr(message, text) != NULL)
        fputs("as above", run.events);
    else
        fprintf(run.events, "\"%s\"", text);
}

static void on_event(void *ctx, const struct event *e)
{
    static const char *const severities[] = {"debug", "info", "warning", "error"};
    (void)ctx;
    fprintf(run.events, "    %s %s", severities[e->severity], e->type);
    if (e->subject[0] != '\0')
        fprintf(run.events, " %s", e->subject);
    /* there are many debug events, so they are printed in a short form */
    if (e->severity == EVENT_DEBUG) {
        fprintf(run.events, ": %s\n", e->message);
        return;
    }
    fprintf(run.events, "\n      %s\n", e->message);
    for (uint32_t i = 0; i < e->field_count; i++) {
        const struct event_field *f = &e->fields[i];
        fprintf(run.events, "%s%s=", i == 0 ? "      " : " ", f->name);
        if (f->kind == EVENT_TEXT)
            print_text(f->text != NULL ? f->text : "", e->message);
        else if (f->kind == EVENT_MICROSECONDS)
            fputs("TIME", run.events);
        else
            fprintf(run.events,
                    f->kind == EVENT_COUNT || f->kind == EVENT_PERMILLE ? "%" PRIu64 : "0x%" PRIx64,
                    f->number);
    }
    if (e->field_count > 0)
        fputc('\n', run.events);
}

/* ---- subnet administration ------------------------------------------------------------------- */

static int wire_send(struct transport *t, const struct transport_mad *mad)
{
    (void)t;
    memcpy(run.answer, mad->bytes, sizeof run.answer);
    run.answered = true;
    return FAB_OK;
}

static bool is_answered(struct lab *lab)
{
    (void)lab;
    return run.answered;
}

static const struct fab_port *adapter(const char *name)
{
    const struct fab_fabric *f = fab_sim_fabric(run.lab.sim);
    return fab_fabric_port(f, fab_fabric_port_id(f, lab_node(&run.lab, name), 1));
}

static void gid_of(const char *name, uint64_t ret[2])
{
    ret[0] = run.lab.config.policy.subnet_prefix;
    ret[1] = adapter(name)->guid;
}

/* Sends a request from an adapter to subnet administration, and prints the answer. */
static void request(const char *from, uint8_t method, const struct fab_rec *rec, uint64_t mask,
                    const void *record)
{
    static union {
        uint8_t bytes[1024];
        uint64_t align;
    } is;
    const struct fab_port_info *info = fab_sim_port(run.lab.sim, lab_node(&run.lab, from), 1);
    struct transport_mad mad = {
        .addr = {.slid = info->lid, .qpn = 1}, .qp = 1, .len = FAB_MAD_SIZE};
    struct fab_mad head = {
        .mgmt_class = FAB_CLASS_SA, .method = method, .tid = 1, .attr_id = rec->id};
    struct fab_sa_header header = {.comp_mask = mask};
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad.bytes), FAB_OK);
    fab_wire_attr_pack(&fab_wire_attr_sa_header, &header, mad.bytes + FAB_SA_HEADER, 20);
    fab_wire_rec_pack(rec, record, mad.bytes + FAB_SA_DATA, FAB_SA_DATA_LEN);
    run.answered = false;
    transport_hand_up(&run.wire, &mad, 1);
    lab_run(&run.lab, 5, is_answered, "an answer");
    fprintf(run.out, "%s: status 0x%04x\n", rec->name, fab_base_get_be16(run.answer + 4));
    ck_assert_int_eq(fab_wire_rec_unpack(rec, run.answer + FAB_SA_DATA, FAB_SA_DATA_LEN, is.bytes),
                     FAB_OK);
    for (size_t i = 0; i < rec->part_count; i++) {
        char *text = golden_fields(rec->parts[i].attr, is.bytes + rec->parts[i].member, NULL);
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
            fprintf(run.out, "    %s\n", line);
        free(text);
    }
}

static void request_path(const char *from, const char *to)
{
    const struct fab_rec *rec = &fab_wire_path_record;
    struct fab_wire_path_record r = {0};
    gid_of(from, r.sgid);
    gid_of(to, r.dgid);
    request(from, FAB_METHOD_GET, rec,
            fab_wire_rec_component(rec, "SGID") | fab_wire_rec_component(rec, "DGID"), &r);
}

static void request_group(const char *from, uint8_t group, bool join, bool sends)
{
    const struct fab_rec *rec = &fab_wire_mc_member_record;
    struct fab_wire_mc_member_record r = {.mgid = {UINT64_C(0xff12a01b00000000), group},
                                          .qkey = 0x1234,
                                          .pkey = 0xffff,
                                          .join_state = sends ? 5 : 1};
    uint64_t mask = 0;
    static const char *const fields[] = {"MGID",  "PortGID", "JoinState", "Q_Key",
                                         "P_Key", "TClass",  "SL",        "FlowLabel"};
    gid_of(from, r.port_gid);
    for (size_t i = 0; i < (join ? sizeof fields / sizeof *fields : 3); i++)
        mask |= fab_wire_rec_component(rec, fields[i]);
    request(from, join ? FAB_METHOD_SET : FAB_METHOD_DELETE, rec, mask, &r);
}

static void request_alias(const char *from, uint8_t number)
{
    struct fab_wire_guid_info_record r = {
        .lid = fab_sim_port(run.lab.sim, lab_node(&run.lab, from), 1)->lid};
    r.table.guid[2] = 0x1000u + number;
    request(from, FAB_METHOD_SET, &fab_wire_guid_info_record, 3 | UINT64_C(0x0c) << 4, &r);
}

/* ---- the manager ----------------------------------------------------------------------------- */

/* Reads the settings file of a case. Changes to the folder of the golden files for this, because
 * settings name other files there. */
static void read_settings(const char *name, struct config *ret)
{
    char folder[1000], before[1000], why[300] = "";
    golden_path(FOLDER, folder, sizeof folder);
    ck_assert_ptr_nonnull(getcwd(before, sizeof before));
    ck_assert_int_eq(chdir(folder), 0);
    /* The manager would refuse a settings file with keys that every user can read. So the test
     * reads the file itself, and loads its text. */
    char text[8192];
    FILE *f = fopen(name, "r");
    ck_assert_ptr_nonnull(f);
    size_t len = fread(text, 1, sizeof text, f);
    ck_assert(feof(f) != 0);
    fclose(f);
    int status = config_load_text(text, len, name, ret, why, sizeof why);
    ck_assert_int_eq(chdir(before), 0);
    ck_assert_msg(status == FAB_OK, "%s: %s", name, why);
    ret->smp.timeout_ms = 20;
}

static void start_manager(const struct scene *scene)
{
    static const struct transport_ops ops = {.send = wire_send};
    struct lab *lab = &run.lab;
    lab_begin(lab, NULL);
    ck_assert_int_eq(bus_subscribe(lab->bus, on_event, NULL), FAB_OK);
    run.wire = (struct transport){.ops = &ops};
    const struct sa_input in = {
        .loop = lab->loop, .transport = &run.wire, .sm = lab->sm, .bus = lab->bus};
    ck_assert_int_eq(sa_start(&in, &run.sa), FAB_OK);
    if (scene->congestion) {
        const struct cc_input cc = {.loop = lab->loop,
                                    .transport = lab->sim_transport,
                                    .sm = lab->sm,
                                    .bus = lab->bus,
                                    .config = &lab->config};
        ck_assert_int_eq(cc_new(&cc, &run.cc), FAB_OK);
    }
    sm_start(lab->sm);
}

static void stop_manager(void)
{
    cc_free(run.cc);
    run.cc = NULL;
    sa_stop(run.sa);
    lab_stop(&run.lab);
}

static void reload(const char *name)
{
    struct config now;
    read_settings(name, &now);
    struct fab_policy before = run.lab.config.policy;
    run.lab.config.policy = now.policy;
    now.policy = before;
    ck_assert_int_eq(sm_reload(run.lab.sm), FAB_OK);
    if (run.cc != NULL)
        cc_reload(run.cc);
    config_fini(&now);
}

static bool is_settled(struct lab *lab)
{
    struct sm_multicast_status multicast;
    sm_get_multicast(lab->sm, &multicast);
    return lab_is_idle(lab) && !multicast.pending;
}

static void rename_node(const char *node, const char *name)
{
    struct lab *lab = &run.lab;
    uint32_t id = lab_node(lab, node);
    struct fab_fabric *f = (struct fab_fabric *)(uintptr_t)fab_sim_fabric(lab->sim);
    snprintf(f->nodes[id].desc, sizeof f->nodes[id].desc, "%s", name);
    ck_assert_int_eq(fab_sim_trap(lab->sim, id, id < f->switch_count ? 0 : 1, 144), FAB_OK);
    transport_sim_kick(lab->sim_transport);
}

static void take_step(const struct scene *scene, const struct step *s)
{
    struct lab *lab = &run.lab;
    uint32_t node = s->node != NULL ? lab_node(lab, s->node) : 0;
    uint64_t guid = fab_sim_fabric(lab->sim)->nodes[node].guid;
    switch (s->verb) {
    case END:
    case WAIT:
        lab_run_for(lab, s->port);
        break;
    case DOWN:
        lab_unlink(lab, s->node, s->port);
        break;
    case UP:
        lab_relink(lab, s->node, s->port);
        break;
    case OFF:
        ck_assert_int_eq(fab_sim_power_off(lab->sim, node), FAB_OK);
        transport_sim_kick(lab->sim_transport);
        break;
    case ON:
        ck_assert_int_eq(fab_sim_power_on(lab->sim, node, 1000, 0), FAB_OK);
        transport_sim_kick(lab->sim_transport);
        break;
    case RENAME:
        rename_node(s->node, s->text);
        break;
    case RELOAD:
        reload(s->text);
        break;
    case JOIN:
    case LEAVE:
        request_group(s->node, s->port, s->verb == JOIN, s->text != NULL);
        break;
    case ALIAS:
        request_alias(s->node, s->port);
        break;
    case PATHS:
        request_path(s->node, s->text);
        break;
    case SWEEP:
        ck_assert_int_eq(sm_sweep(lab->sm, NULL, NULL), FAB_OK);
        break;
    case REROUTE:
        ck_assert_int_eq(sm_reroute(lab->sm, NULL, NULL), FAB_OK);
        break;
    case DISABLE:
    case ENABLE:
        ck_assert_int_eq(
            sm_port_set(lab->sm, guid, s->port, s->verb == ENABLE, "an operator", NULL, NULL),
            FAB_OK);
        break;
    case RESTART:
        stop_manager();
        start_manager(scene);
        break;
    }
}

/* ---- the text -------------------------------------------------------------------------------- */

static void print_status(void)
{
    struct sm_status s;
    struct sm_multicast_status m;
    struct reroute r;
    sm_get_status(run.lab.sm, &s);
    sm_get_multicast(run.lab.sm, &m);
    fprintf(run.out,
            "Status\n    generation=%" PRIu64 " heavy sweeps=%" PRIu64 " SMPs sent=%" PRIu64
            " retried=%" PRIu64 " unresponsive=%u\n    links lost=%" PRIu64 " gained=%" PRIu64
            " held down=%u isolated=%u entries repaired=%" PRIu64 " rebalance due=%d\n"
            "    groups=%u MLIDs=%u members=%" PRIu64 " room=%u absent=%u writes=%" PRIu64 "\n",
            s.generation, s.sweeps, s.smps_sent, s.smps_retried, s.unresponsive, s.links_lost,
            s.links_gained, s.links_held, s.links_isolated, s.repaired, s.rebalance_due, m.groups,
            m.mlids, m.members, m.room, m.absent, m.writes);
    if (s.alarm[0] != '\0')
        fprintf(run.out, "    alarm: %s\n", s.alarm);
    if (sm_reroutes(run.lab.sm, 0, &r, 1) == 1)
        fprintf(run.out,
                "    last reroute: generation=%" PRIu64 " cause=\"%s\" engine=%s entries=%u "
                "blocks=%u switches=%u failed=%u\n      links lost=%u gained=%u nodes lost=%u "
                "gained=%u\n",
                r.generation, r.cause, r.engine, r.entries, r.blocks, r.switches, r.failed,
                r.links_lost, r.links_gained, r.nodes_lost, r.nodes_gained);
}

static void print_contingencies(void)
{
    struct sm_contingencies c;
    uint64_t digest = GOLDEN_HASH;
    sm_get_contingencies(run.lab.sm, &c);
    if (c.all == NULL)
        return;
    uint32_t load = 0, lost = 0, engine = 0;
    for (uint32_t i = 0; i < c.all->rows; i++) {
        const struct fab_repair_contingency *x = &c.all->row[i];
        if (!x->known)
            continue;
        const uint64_t figures[] = {x->is_switch, x->outcome,       x->id,      x->peer,
                                    x->lost_ends, x->lost_switches, x->entries, x->blocks,
                                    x->switches,  x->steps,         x->load,    x->busiest};
        digest = golden_hash_numbers(digest, figures, sizeof figures / sizeof *figures);
        digest = golden_hash(digest, x->plan != NULL ? x->plan->bytes : NULL, x->plan_len);
        load = x->load > load ? (uint32_t)x->load : load;
        lost = x->lost_ends > lost ? x->lost_ends : lost;
        engine += x->outcome == FAB_CONTINGENCY_ENGINE;
    }
    fprintf(run.out,
            "Contingencies\n    rows=%zu of %u need an engine=%u worst load=%u (now %" PRIu64
            ") most endports lost=%u digest=%016" PRIx64 "\n",
            c.all->count, c.cases, engine, load, c.load, lost, digest);
}

static int by_place(const void *a, const void *b)
{
    const struct golden_item *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->port != y->port ? (x->port < y->port ? -1 : 1) : strcmp(x->text, y->text);
}

static void print_step(void)
{
    const struct fab_fabric *f = fab_sim_fabric(run.lab.sim);
    struct golden_items now = {0};
    struct kind kinds[KINDS];
    memcpy(kinds, run.kinds, sizeof kinds);
    unsigned kind_count = run.kind_count;
    print_status();
    print_contingencies();
    fflush(run.events);
    fprintf(run.out, "Events\n%s", run.event_text);
    golden_items_read(&now, run.lab.sim);
    /* golden_items_read() has sent MADs, too, which must not count */
    memcpy(run.kinds, kinds, sizeof kinds);
    run.kind_count = kind_count;
    fputs("MADs to devices\n", run.out);
    print_kinds();
    if (run.lft_order[0] != '\0')
        fprintf(run.out, "First LFT blocks\n   %s\n", run.lft_order);
    if (run.transient.count > 0)
        qsort(run.transient.item, run.transient.count, sizeof(*run.transient.item), by_place);
    golden_items_print(run.out, f, &run.transient, NULL);
    golden_items_print(run.out, f, &now, run.before.count > 0 ? &run.before : NULL);
    golden_items_free(&run.before);
    run.before = now;
}

static void forget(void)
{
    run.kind_count = 0;
    run.lft_order[0] = '\0';
    golden_items_free(&run.transient);
    fclose(run.events);
    free(run.event_text);
    run.events = open_memstream(&run.event_text, &run.event_len);
}

static void settle(void)
{
    lab_run_for(&run.lab, 2.5);
    lab_run(&run.lab, 60, is_settled, "the manager settles");
}

static void play(const struct scene *scene)
{
    char file[200], *text;
    size_t len;
    memset(&run, 0, sizeof run);
    /* golden files are for the default seed, so TEST_SEED must have no effect */
    unsetenv("TEST_SEED");
    run.out = open_memstream(&text, &len);
    run.events = open_memstream(&run.event_text, &run.event_len);
    lab_open_virtual(&run.lab, scene->fabric(), NULL);
    lab_stop(&run.lab);
    config_fini(&run.lab.config);
    snprintf(file, sizeof file, "%s.yaml", scene->name);
    read_settings(file, &run.lab.config);
    fprintf(run.out, "==== bring-up ====\n");
    start_manager(scene);
    settle();
    print_step();
    lab_assert_good(&run.lab);
    for (const struct step *s = scene->steps; s->verb != END; s++) {
        forget();
        fprintf(run.out, "\n==== %s", verbs[s->verb]);
        if (s->node != NULL)
            fprintf(run.out, " %s", s->node);
        if (s->port != 0)
            fprintf(run.out, " %u", s->port);
        fprintf(run.out, "%s%s ====\n", s->text != NULL ? " " : "", s->text != NULL ? s->text : "");
        take_step(scene, s);
        settle();
        print_step();
    }
    stop_manager();
    golden_items_free(&run.before);
    golden_items_free(&run.transient);
    fclose(run.events);
    free(run.event_text);
    loop_free(run.lab.loop);
    fab_sim_free(run.lab.sim);
    config_fini(&run.lab.config);
    fclose(run.out);
    snprintf(file, sizeof file, FOLDER "/%s.golden", scene->name);
    golden_compare(file, text);
    free(text);
}

/* ---- fabrics --------------------------------------------------------------------------------- */

static struct fab_builder *leaf_spine(void)
{
    return lab_leaf_spine(4, 2, 3);
}

static struct fab_builder *parallel_leaf_spine(void)
{
    struct fab_builder *b;
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(
                         &(struct fab_leaf_spine_spec){
                             .leaves = 3, .spines = 2, .hosts_per_leaf = 2, .parallel = 2},
                         &b),
                     FAB_OK);
    return b;
}

static struct fab_builder *fat_tree(void)
{
    struct fab_builder *b;
    ck_assert_int_eq(
        fab_fabric_generate_fat_tree(&(struct fab_fat_tree_spec){.radix = 4, .levels = 3}, &b),
        FAB_OK);
    return b;
}

static struct fab_builder *torus(void)
{
    struct fab_builder *b;
    ck_assert_int_eq(
        fab_fabric_generate_torus(
            &(struct fab_torus_spec){.dimensions = 2, .size = {5, 3}, .hosts = 1, .parallel = 1},
            &b),
        FAB_OK);
    return b;
}

static struct fab_builder *dragonfly(void)
{
    struct fab_builder *b;
    ck_assert_int_eq(fab_fabric_generate_dragonfly(&(struct fab_dragonfly_spec){5, 2, 2, 2, 1}, &b),
                     FAB_OK);
    return b;
}

static struct fab_builder *random_fabric(void)
{
    struct fab_builder *b;
    ck_assert_int_eq(fab_fabric_generate_random(&(struct fab_random_spec){12, 3, 2, 6}, &b),
                     FAB_OK);
    return b;
}

static struct fab_builder *hypercube(void)
{
    struct fab_builder *b;
    ck_assert_int_eq(
        fab_fabric_generate_hypercube(
            &(struct fab_hypercube_spec){.dimensions = 3, .hosts = 1, .parallel = 1}, &b),
        FAB_OK);
    return b;
}

static const struct scene scenes[] = {
#include "tests/sim/golden_scenes.h"
};

START_TEST(devices_hold_what_they_did)
{
    play(&scenes[_i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("golden devices");
    TCase *t = tcase_create("scenes");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, devices_hold_what_they_did, 0, sizeof scenes / sizeof *scenes);
    suite_add_tcase(s, t);
    return test_run(s);
}
