/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl topo snapshot`, `topo list` and `topo diff`.
 */
#include <stdio.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "cli/ctl/when.h"
#include "fabric/v1/topology.pb-c.h"
#include "libfabmgr/base/plural.h"

/* ---- snapshots ------------------------------------------------------------------------------- */

static int make(struct session *s)
{
    Fabric__V1__MakeSnapshotRequest q = FABRIC__V1__MAKE_SNAPSHOT_REQUEST__INIT;
    Fabric__V1__MakeSnapshotResponse *r = NULL;
    q.name = s->argv[0];
    q.dry_run = s->dry_run;
    int rc = ask(s, "MakeSnapshot", &q.base, &fabric__v1__make_snapshot_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

static int forget(struct session *s)
{
    Fabric__V1__DeleteSnapshotRequest q = FABRIC__V1__DELETE_SNAPSHOT_REQUEST__INIT;
    Fabric__V1__DeleteSnapshotResponse *r = NULL;
    q.name = s->argv[0];
    q.dry_run = s->dry_run;
    int rc =
        ask(s, "DeleteSnapshot", &q.base, &fabric__v1__delete_snapshot_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

static int snapshot(struct session *s)
{
    return s->forget ? forget(s) : make(s);
}

/* ---- the list -------------------------------------------------------------------------------- */

static const struct out_column list_columns[] = {
    {"name", "NAME", false},  {"time", "TIME", false},  {"made_by", "BY", false},
    {"nodes", "NODES", true}, {"links", "LINKS", true}, {"size", "KIB", true},
};

/* Writes the values of a snapshot in JSON output. */
static void say_snapshot_keys(struct out *o, const Fabric__V1__TopologySnapshot *m)
{
    out_keys(o, &m->base, "name");
    out_time_utc(o, "time", m->time);
    out_keys(o, &m->base, "automatic made_by nodes links size");
}

static void say_snapshot(struct out *o, const Fabric__V1__TopologySnapshot *m)
{
    out_row(o);
    say_snapshot_keys(o, m);
    out_text(o, NULL, "NAME", OUT_PLAIN, m->name);
    out_time(o, "TIME", m->time);
    out_text(o, NULL, "BY", m->automatic ? OUT_DIM : OUT_PLAIN,
             m->automatic ? "fabricd" : m->made_by);
    out_number(o, NULL, "NODES", OUT_PLAIN, m->nodes);
    out_number(o, NULL, "LINKS", OUT_PLAIN, m->links);
    out_number(o, NULL, "KIB", OUT_PLAIN, (m->size + 1023) / 1024);
    out_row_end(o);
}

static int list(struct session *s)
{
    const Fabric__V1__ListSnapshotsRequest q = FABRIC__V1__LIST_SNAPSHOTS_REQUEST__INIT;
    Fabric__V1__ListSnapshotsResponse *r = NULL;
    int rc = ask(s, "ListSnapshots", &q.base, &fabric__v1__list_snapshots_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    out_record(s->out, NULL);
    out_table(s->out, "snapshots", list_columns, sizeof list_columns / sizeof *list_columns, false);
    for (size_t i = 0; i < r->n_snapshots; i++)
        say_snapshot(s->out, r->snapshots[i]);
    out_table_end(s->out);
    if (r->n_snapshots == 0)
        out_note(s->out, OUT_DIM,
                 "There are no snapshots; 'fabricctl topo snapshot NAME' makes one.");
    out_record_end(s->out);
    free_reply(r);
    return rc;
}

/* ---- differences ----------------------------------------------------------------------------- */

static const struct out_column diff_columns[] = {
    {"kind", "CHANGE", false},
    {"object", "WHAT", false},
    {"details", "DETAILS", false},
};

static const char *kind_word(Fabric__V1__TopologyChangeKind kind)
{
    static const char *const words[] = {"?",          "node removed", "node added", "node renamed",
                                        "link moved", "link removed", "link added", "link rate"};
    return (size_t)kind < sizeof words / sizeof words[0] ? words[kind] : "?";
}

static enum out_tone tone_of(Fabric__V1__TopologyChangeKind kind)
{
    return kind == FABRIC__V1__TOPOLOGY_CHANGE_KIND__TOPOLOGY_CHANGE_KIND_NODE_REMOVED ||
                   kind == FABRIC__V1__TOPOLOGY_CHANGE_KIND__TOPOLOGY_CHANGE_KIND_LINK_REMOVED
               ? OUT_WARN
               : OUT_PLAIN;
}

static void say_object(struct out *o, const Fabric__V1__TopologyChange *m)
{
    char port[SHOW_LEN], peer[SHOW_LEN];
    show_port(m->port, port);
    show_port(m->peer, peer);
    if (m->node_guid[0] != '\0')
        out_textf(o, "WHAT", tone_of(m->kind), "%s (%s)", m->node_name, m->node_guid);
    else if (m->peer_before != NULL)
        out_text(o, NULL, "WHAT", OUT_PLAIN, port);
    else
        out_textf(o, "WHAT", tone_of(m->kind), "%s - %s", port, peer);
}

static void say_details(struct out *o, const Fabric__V1__TopologyChange *m)
{
    char before[SHOW_LEN], peer[SHOW_LEN];
    show_port(m->peer_before, before);
    show_port(m->peer, peer);
    if (m->peer_before != NULL)
        out_textf(o, "DETAILS", OUT_PLAIN, "was connected to %s, is connected to %s", before, peer);
    else if (m->before[0] != '\0' || m->after[0] != '\0')
        out_textf(o, "DETAILS", OUT_PLAIN, "was %s, is %s", m->before, m->after);
    else if (m->node_guid[0] != '\0' && m->peer != NULL)
        out_textf(o, "DETAILS", OUT_PLAIN, "at %s", peer);
    else
        out_text(o, NULL, "DETAILS", OUT_PLAIN, "");
}

static void say_change(struct out *o, const Fabric__V1__TopologyChange *m)
{
    out_row(o);
    out_text(o, "kind", "CHANGE", tone_of(m->kind), kind_word(m->kind));
    out_text(o, "name", NULL, OUT_PLAIN, m->node_name);
    out_text(o, "guid", NULL, OUT_PLAIN, m->node_guid);
    out_port_keys(o, "", m->port);
    out_port_keys(o, "peer_", m->peer);
    out_port_keys(o, "peer_before_", m->peer_before);
    out_keys(o, &m->base, "before after");
    say_object(o, m);
    say_details(o, m);
    out_row_end(o);
}

static void say_side(struct out *o, const char *key, const char *label,
                     const Fabric__V1__TopologySnapshot *m)
{
    char when[SHOW_LEN];
    if (m == NULL) {
        out_text(o, NULL, label, OUT_PLAIN, "now");
        out_none(o, key, NULL);
        return;
    }
    show_time(m->time, when);
    out_textf(o, label, OUT_PLAIN, "%s, of %s", m->name, when);
    out_text(o, key, NULL, OUT_PLAIN, m->name);
}

static void say_diff(struct out *o, const Fabric__V1__CompareTopologiesResponse *r)
{
    out_record(o, NULL);
    say_side(o, "before", "Before", r->before);
    say_side(o, "after", "After", r->after);
    out_textf(o, "Changes", OUT_PLAIN, "%u", r->change_count);
    out_number(o, "change_count", NULL, OUT_PLAIN, r->change_count);
    if (r->n_changes > 0)
        out_note(o, OUT_PLAIN, "%s", "");
    out_table(o, "changes", diff_columns, sizeof diff_columns / sizeof *diff_columns, false);
    for (size_t i = 0; i < r->n_changes; i++)
        say_change(o, r->changes[i]);
    out_table_end(o);
    if (r->change_count > r->n_changes)
        out_note(o, OUT_DIM, "and %u more", r->change_count - (unsigned)r->n_changes);
    out_record_end(o);
}

/* Parses an argument that names one of the two topologies to compare. If `text` is a time, stores
 * this time in *room, and sets *ret_time to `room`. Otherwise `text` is the name of a snapshot, and
 * *ret_name is set to it. */
static void read_side(const char *text, char **ret_name, Google__Protobuf__Timestamp *room,
                      Google__Protobuf__Timestamp **ret_time)
{
    time_t t;
    if (!when_time(text, time(NULL), &t)) {
        *ret_name = (char *)(uintptr_t)text;
        return;
    }
    google__protobuf__timestamp__init(room);
    room->seconds = t;
    *ret_time = room;
}

static int diff(struct session *s)
{
    Fabric__V1__CompareTopologiesRequest q = FABRIC__V1__COMPARE_TOPOLOGIES_REQUEST__INIT;
    Fabric__V1__CompareTopologiesResponse *r = NULL;
    Google__Protobuf__Timestamp times[2];
    read_side(s->argv[0], &q.before, &times[0], &q.before_time);
    if (s->argc > 1 && strcmp(s->argv[1], "now") != 0)
        read_side(s->argv[1], &q.after, &times[1], &q.after_time);
    int rc = ask(s, "CompareTopologies", &q.base,
                 &fabric__v1__compare_topologies_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_diff(s->out, r);
    free_reply(r);
    return rc;
}

const struct cmd cmd_topo_snapshot = {
    .noun = "topo",
    .verb = "snapshot",
    .args = "NAME [--forget] [--dry-run] [--reason TEXT]",
    .summary = "store the present topology under a name, or forget a snapshot",
    .min_args = 1,
    .max_args = 1,
    .options = "rFD",
    .method = "fabric.v1.FabricService/MakeSnapshot",
    .json = "message:text",
    .run = snapshot,
};
const struct cmd cmd_topo_list = {
    .noun = "topo",
    .verb = "list",
    .summary = "the snapshots of the topology",
    .method = "fabric.v1.FabricService/ListSnapshots",
    .is_list = true,
    .json = "snapshots:[ name:text time:time @TopologySnapshot(automatic made_by nodes links "
            "size) ]",
    .run = list,
};
const struct cmd cmd_topo_diff = {
    .noun = "topo",
    .verb = "diff",
    .args = "A [B]",
    .summary = "what changed from snapshot A to B, or to now; A and B may be times",
    .min_args = 1,
    .max_args = 2,
    .slow = true,
    .method = "fabric.v1.FabricService/CompareTopologies",
    .is_list = true,
    .json = "before:text|null after:text|null change_count:u32 changes:[ kind:'?'|'node "
            "removed'|'node added'|'node renamed'|'link moved'|'link removed'|'link "
            "added'|'link rate' name:text guid:guid =port =port(peer_) =port(peer_before_) "
            "before:text after:text ]",
    .run = diff,
};
