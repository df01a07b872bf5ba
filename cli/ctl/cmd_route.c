/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl route show` and `route verify`.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/route.pb-c.h"
#include "libfabmgr/base/plural.h"

static const struct out_column columns[] = {
    {"lid", "LID", true},
    {"out_port", "OUT PORT", true},
    {"to", "TO", false},
};

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__ForwardingEntry *e = item;
    out_row(o);
    out_fields(o, &e->base, "lid", "LID", "out_port", "OUT PORT", NULL);
    out_port(o, "TO", e->owner);
    out_port_keys(o, "to_", e->owner);
    out_row_end(o);
}

static int show(struct session *s)
{
    static const struct list entries = {
        .method = "GetForwardingTable",
        .reply = &fabric__v1__get_forwarding_table_response__descriptor,
        .items = "entries",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .none = "The table has no entries.",
    };
    Fabric__V1__GetForwardingTableRequest q = FABRIC__V1__GET_FORWARDING_TABLE_REQUEST__INIT;
    q.node = s->argv[0];
    return say_list(s, &entries, &q.base);
}

static const char *kind_word(Fabric__V1__WitnessKind kind)
{
    static const char *const words[] = {
        "none", "unreachable", "loop", "cycle", "too-long", "dead-port", "device-limit",
    };
    return (size_t)kind < sizeof words / sizeof words[0] ? words[kind] : "?";
}

static bool is_multicast_sound(const Fabric__V1__MulticastVerdict *m)
{
    return m == NULL ||
           ((m->passed || m->pending) && (!m->dependencies_verified || m->deadlock_free));
}

static void say_multicast(struct out *o, const Fabric__V1__MulticastVerdict *m)
{
    if (m == NULL)
        return;
    out_textf(o, "Multicast",
              m->passed    ? OUT_PLAIN
              : m->pending ? OUT_WARN
                           : OUT_BAD,
              "%u MLID%s with %" PRIu64 " member%s, of which %u MLID%s failed%s", m->mlids,
              fab_base_plural_s(m->mlids), m->members, fab_base_plural_s(m->members),
              m->failed_mlids, fab_base_plural_s(m->failed_mlids),
              m->pending ? "; tables are being written" : "");
    if (m->dependencies_verified)
        out_textf(o, "With unicast", m->deadlock_free ? OUT_PLAIN : OUT_BAD,
                  "%s, %" PRIu64 " channel dependencies of multicast packets",
                  m->deadlock_free ? "deadlock-free" : "deadlock possible", m->dependencies);
    out_bool(o, "multicast_passed", NULL, OUT_PLAIN, m->passed);
    out_bool(o, "multicast_pending", NULL, OUT_PLAIN, m->pending);
    out_bool(o, "multicast_dependencies_verified", NULL, OUT_PLAIN, m->dependencies_verified);
    out_bool(o, "multicast_deadlock_free", NULL, OUT_PLAIN, m->deadlock_free);
    out_number(o, "multicast_mlids", NULL, OUT_PLAIN, m->mlids);
    out_number(o, "multicast_failed_mlids", NULL, OUT_PLAIN, m->failed_mlids);
    out_number(o, "multicast_members", NULL, OUT_PLAIN, m->members);
    out_number(o, "multicast_unserved_members", NULL, OUT_PLAIN, m->unserved_members);
    out_number(o, "multicast_dependencies", NULL, OUT_PLAIN, m->dependencies);
    show_lines(o, m->witness);
    out_lines(o, "multicast_witness", m->witness);
}

static int say(struct out *o, const Fabric__V1__GetVerdictResponse *r)
{
    const Fabric__V1__Verdict *v = r->verdict;
    bool multicast = is_multicast_sound(r->multicast);
    bool good = v->passed && multicast && r->settings_not_restored == 0;
    out_record(o, NULL);
    out_textf(o, "Verdict", good ? OUT_GOOD : OUT_BAD, "%s",
              good         ? "sound: deadlock-free, and every pair reaches each other"
              : !v->passed ? "NOT sound"
              : !multicast ? "unicast tables are sound, multicast tables are NOT sound"
                           : "the tables are sound, but devices do not hold them");
    if (r->settings_not_restored > 0)
        out_textf(o, "Settings", OUT_BAD,
                  "%u node%s hold%s other settings than the manager wrote; see the events "
                  "settings-changed",
                  r->settings_not_restored, fab_base_plural_s(r->settings_not_restored),
                  r->settings_not_restored == 1 ? "s" : "");
    out_number(o, "settings_not_restored", NULL, OUT_PLAIN, r->settings_not_restored);
    out_bool(o, "passed", NULL, OUT_PLAIN, v->passed);
    out_number(o, "generation", "Generation", OUT_PLAIN, r->generation);
    out_bool(o, "deadlock_free", NULL, OUT_PLAIN, v->deadlock_free);
    out_textf(o, "Deadlock", v->deadlock_free ? OUT_PLAIN : OUT_BAD,
              "%s, %" PRIu64 " channel dependencies", v->deadlock_free ? "none" : "possible",
              v->dependencies);
    out_textf(o, "Pairs", v->unreachable_pairs > 0 ? OUT_BAD : OUT_PLAIN,
              "%" PRIu64 ", of which %" PRIu64 " unreachable", v->pairs, v->unreachable_pairs);
    out_keys(o, &v->base, "pairs unreachable_pairs");
    out_textf(o, "Longest path", OUT_PLAIN, "%u switch%s", v->longest_path,
              fab_base_plural_es(v->longest_path));
    out_keys(o, &v->base, "longest_path dependencies");
    out_proof(o, r->proof);
    out_text(o, "witness_kind", v->witness_kind != 0 ? "Witness" : NULL, OUT_BAD,
             kind_word(v->witness_kind));
    show_lines(o, v->witness);
    out_lines(o, "witness", v->witness);
    say_multicast(o, r->multicast);
    out_record_end(o);
    return good ? EXIT_OK : EXIT_UNSOUND;
}

static int verify(struct session *s)
{
    Fabric__V1__GetVerdictRequest q = FABRIC__V1__GET_VERDICT_REQUEST__INIT;
    Fabric__V1__GetVerdictResponse *r = NULL;
    q.verify_again = true;
    int rc = ask(s, "GetVerdict", &q.base, &fabric__v1__get_verdict_response__descriptor, &r);
    if (rc == EXIT_OK && r->verdict != NULL)
        rc = say(s->out, r);
    free_reply(r);
    return rc;
}

const struct cmd cmd_route_show = {
    .noun = "route",
    .verb = "show",
    .args = "SWITCH",
    .summary = "the forwarding table of a switch",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/GetForwardingTable",
    .is_list = true,
    .json = "entries:[ lid:u16 out_port:u8 =port(to_) ]",
    .run = show,
};
const struct cmd cmd_route_verify = {
    .noun = "route",
    .verb = "verify",
    .summary = "verify the active tables again",
    .slow = true,
    .method = "fabric.v1.FabricService/GetVerdict",
    .json = "settings_not_restored:u32 passed:bool generation:u64 deadlock_free:bool "
            "@Verdict(pairs unreachable_pairs longest_path dependencies) proof_generation:u64 "
            "=proof "
            "witness_kind:'?'|'none'|'unreachable'|'loop'|'cycle'|'too-long'|'dead-port'|'device-"
            "limit' "
            "witness:text multicast_passed&:bool multicast_pending&:bool "
            "multicast_dependencies_verified&:bool multicast_deadlock_free&:bool "
            "multicast_mlids&:u32 multicast_failed_mlids&:u32 multicast_members&:u64 "
            "multicast_unserved_members&:u64 multicast_dependencies&:u64 "
            "multicast_witness&:text",
    .run = verify,
};
