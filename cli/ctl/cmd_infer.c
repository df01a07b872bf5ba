/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl topo infer`, which infers the intended topology of a fabric from its
 * cabling, and shows it. */
#include <inttypes.h>

#include "cli/ctl/cabling.h"
#include "cli/ctl/show_cabling.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/infer.h"

static const struct out_column level_columns[] = {
    {"level", "LEVEL", true}, {"switches", "SWITCHES", true}, {"ports", "PORTS", true},
    {"hosts", "HOSTS", true}, {"down", "DOWN", true},         {"up", "UP", true},
    {"side", "SIDE", true},   {"odd", "ODD", true},
};

static void say_counts(struct out *o, unsigned down, unsigned up, unsigned side)
{
    out_number(o, "down", "DOWN", OUT_PLAIN, down);
    out_number(o, "up", "UP", OUT_PLAIN, up);
    out_number(o, "side", "SIDE", OUT_PLAIN, side);
}

static void say_levels(struct out *o, const struct fab_cabling_shape *s)
{
    out_note(o, OUT_PLAIN, "%s", "");
    out_table(o, "levels", level_columns, sizeof level_columns / sizeof *level_columns, false);
    for (uint32_t i = 0; i < s->level_count; i++) {
        const struct fab_cabling_level *l = &s->levels[i];
        out_row(o);
        out_number(o, "level", "LEVEL", OUT_PLAIN, i + 1);
        out_number(o, "switches", "SWITCHES", OUT_PLAIN, l->switches);
        out_number(o, "ports", "PORTS", OUT_PLAIN, l->ports);
        out_number(o, "hosts", "HOSTS", OUT_PLAIN, l->hosts);
        say_counts(o, l->down, l->up, l->side);
        out_number(o, "odd", "ODD", l->odd > 0 ? OUT_WARN : OUT_PLAIN, l->odd);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_switches(struct out *o, const struct fab_cabling_shape *s)
{
    static const struct out_column columns[] = {
        {"switch", "ODD SWITCH", false}, {"level", "LEVEL", true},
        {"down", "DOWN", true},          {"up", "UP", true},
        {"side", "SIDE", true},
    };
    if (s->switch_count > 0)
        out_note(o, OUT_PLAIN, "%s", "");
    out_table(o, "odd_switches", columns, sizeof columns / sizeof *columns, false);
    for (size_t i = 0; i < s->switch_count; i++) {
        const struct fab_cabling_odd_switch *x = &s->switches[i];
        out_row(o);
        out_text(o, "switch", "ODD SWITCH", OUT_WARN, s->check->sites[x->node].name);
        out_number(o, "level", "LEVEL", OUT_PLAIN, x->level);
        say_counts(o, x->down, x->up, x->side);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_adapters(struct out *o, const struct fab_cabling_shape *s)
{
    static const struct out_column columns[] = {
        {"adapter", "ADAPTER", false},
        {"rail", "RAIL", true},
        {"at", "CONNECTED TO", false},
        {"other_rail", "RAIL OF MOST THERE", true},
    };
    const struct fab_cabling_check *c = s->check;
    if (s->adapter_count > 0)
        out_note(o, OUT_PLAIN, "%s", "");
    out_table(o, "odd_adapters", columns, sizeof columns / sizeof *columns, false);
    for (size_t i = 0; i < s->adapter_count; i++) {
        const struct fab_cabling_odd_rail *x = &s->adapter_rails[i];
        char adapter[SHOW_CABLING_PORT], at[SHOW_CABLING_PORT];
        out_row(o);
        out_text(o, "adapter", "ADAPTER", OUT_WARN, show_cabling_port(c, x->port, adapter));
        out_number(o, "rail", "RAIL", OUT_PLAIN, x->rail);
        out_text(o, "at", "CONNECTED TO", OUT_PLAIN, show_cabling_port(c, c->actual[x->port], at));
        out_number(o, "other_rail", "RAIL OF MOST THERE", OUT_PLAIN, x->other_rail);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_summary(struct out *o, const struct fab_cabling_shape *s)
{
    bool tree = s->level_count > 0 && s->levels[0].side == 0;
    char rails[40] = "";
    if (s->rails > 1)
        snprintf(rails, sizeof rails, ", %u rails", s->rails);
    if (tree)
        out_textf(o, "Shape", OUT_PLAIN, "a tree of %" PRIu32 " level%s of switches%s",
                  s->level_count, fab_base_plural_s(s->level_count), rails);
    else
        out_textf(o, "Shape", OUT_PLAIN, "no tree: most leaves have links to other leaves%s",
                  rails);
    out_textf(o, "Hosts", OUT_PLAIN, "%" PRIu32 " with %" PRIu32 " connected port%s", s->hosts,
              s->adapters, fab_base_plural_s(s->adapters));
    if (s->links_in_pattern > 0)
        out_textf(o, "Pattern", OUT_PLAIN,
                  "most switches show where %" PRIu32
                  " links between switches belong; the fabric has %" PRIu32,
                  s->links_in_pattern, s->links);
    else
        out_textf(o, "Pattern", OUT_PLAIN, "none found in %" PRIu32 " links between switches",
                  s->links);
    out_bool(o, "tree", NULL, OUT_PLAIN, tree);
    out_number(o, "hosts", NULL, OUT_PLAIN, s->hosts);
    out_number(o, "adapter_ports", NULL, OUT_PLAIN, s->adapters);
    out_number(o, "rails", NULL, OUT_PLAIN, s->rails);
    out_number(o, "links", NULL, OUT_PLAIN, s->links);
    out_number(o, "links_in_pattern", NULL, OUT_PLAIN, s->links_in_pattern);
}

static void say(struct out *o, const struct fab_cabling_shape *s)
{
    out_record(o, NULL);
    say_summary(o, s);
    say_levels(o, s);
    say_switches(o, s);
    say_adapters(o, s);
    show_cabling_lists(o, s->check, true, 0);
    if (s->check->difference_count == 0 && s->switch_count == 0 && s->adapter_count == 0)
        out_note(o, OUT_GOOD, "Nothing is odd.");
    out_record_end(o);
}

static int infer(struct session *s)
{
    struct fab_fabric *fabric = NULL;
    struct fab_cabling_shape *shape = NULL;
    struct fab_client_error error;
    if (fetch_fabric(s, &fabric, &error) != EXIT_OK)
        return say_error(&error);
    int status = fab_cabling_infer(fabric, &shape);
    if (status == FAB_OK)
        say(s->out, shape);
    fab_cabling_shape_free(shape);
    fab_fabric_unref(fabric);
    return status == FAB_OK ? EXIT_OK : complain(EXIT_FAILED, "%s", fab_base_status_text(status));
}

const struct cmd cmd_topo_infer = {
    .noun = "topo",
    .verb = "infer",
    .one_manager = true,
    .summary = "the shape that the fabric seems to have, and the odd ones out",
    .method = "fabric.v1.FabricService/Export",
    .json = "tree:bool hosts:u32 adapter_ports:u32 rails:u32 links:u32 links_in_pattern:u32 "
            "levels:[ level:u32 switches:u32 ports:u32 hosts:u32 down:u32 up:u32 side:u32 "
            "odd:u32 ] odd_switches:[ switch:text level:u32 down:u32 up:u32 side:u32 ] "
            "odd_adapters:[ adapter:text rail:u32 at:text other_rail:u32 ] =cabling_lists",
    .run = infer,
};
