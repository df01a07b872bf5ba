/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl cc export --roce`, which prints the settings for Ethernet that correspond
 * to the congestion settings of the fabric. It prints them as tables, or in the format of another
 * program.
 *
 * The formats follow two open-source projects: the table WRED_PROFILE of SONiC (Configuration.md of
 * sonic-buildimage), and the debugfs files of Linux's mlx5_ib (drivers/infiniband/hw/mlx5/cong.c)
 * with the units that mstflint documents.
 */
#include <stdio.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "fabric/v1/congestion.pb-c.h"

static const Fabric__V1__CongestionValue *value_of(const Fabric__V1__RoceSetting *r,
                                                   const char *name)
{
    for (size_t i = 0; i < r->n_values; i++)
        if (strcmp(r->values[i]->name, name) == 0)
            return r->values[i];
    return NULL;
}

static unsigned number_of(const Fabric__V1__RoceSetting *r, const char *name)
{
    const Fabric__V1__CongestionValue *v = value_of(r, name);
    return v != NULL ? v->value : 0;
}

static const char *to(const Fabric__V1__RoceSetting *r)
{
    return r->edge ? "endports" : "switches";
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* the first PORT_KEYS columns identify the port; the other columns are settings of the port */
#define PORT_KEYS 3
static const struct out_column port_columns[] = {
    {"mbps", "SPEED", true},
    {"ports", "PORTS", true},
    {"to", "TO", false},
    {"kmin_bytes", "KMIN BYTES", true},
    {"kmax_bytes", "KMAX BYTES", true},
    {"pmax_percent", "PMAX %", true},
    {"pause_bytes", "PAUSE BYTES", true},
    {"headroom_bytes", "HEADROOM BYTES", true},
};
#define ADAPTER_KEYS 1
static const struct out_column adapter_columns[] = {
    {"mbps", "SPEED", true},
    {"cnp_interval_us", "CNP US", true},
    {"alpha_update_us", "ALPHA US", true},
    {"inverse_gain", "1/G", true},
    {"rate_increase_us", "INCREASE US", true},
    {"byte_counter_bytes", "COUNTER BYTES", true},
    {"recovery_stages", "STAGES", true},
    {"additive_increase_mbps", "AI MBIT/S", true},
    {"hyper_increase_mbps", "HAI MBIT/S", true},
};
static const struct out_column why_columns[] = {
    {"mbps", "SPEED", true}, {"to", "TO", false},       {"name", "VALUE", false},
    {"value", "IS", true},   {"why", "BECAUSE", false},
};

static void say_speed(struct out *o, const Fabric__V1__RoceSetting *r)
{
    char text[16];
    snprintf(text, sizeof text, "%uG", r->mbps / 1000);
    out_number(o, "mbps", NULL, OUT_PLAIN, r->mbps);
    out_text(o, NULL, "SPEED", OUT_PLAIN, text);
}

static void say_values(struct out *o, const Fabric__V1__RoceSetting *r,
                       const struct out_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out_number(o, columns[i].key, columns[i].label, OUT_PLAIN, number_of(r, columns[i].key));
}

static void say_ports(struct out *o, const Fabric__V1__GetRoceResponse *r)
{
    size_t columns = sizeof port_columns / sizeof *port_columns;
    out_table(o, "switch_ports", port_columns, columns, false);
    for (size_t i = 0; i < r->n_settings; i++) {
        out_row(o);
        say_speed(o, r->settings[i]);
        out_number(o, "ports", "PORTS", OUT_PLAIN, r->settings[i]->ports);
        out_text(o, "to", "TO", OUT_PLAIN, to(r->settings[i]));
        say_values(o, r->settings[i], port_columns + PORT_KEYS, columns - PORT_KEYS);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_adapters(struct out *o, const Fabric__V1__GetRoceResponse *r)
{
    size_t columns = sizeof adapter_columns / sizeof *adapter_columns;
    out_table(o, "adapters", adapter_columns, columns, false);
    for (size_t i = 0; i < r->n_settings; i++) {
        if (!r->settings[i]->edge)
            continue;
        out_row(o);
        say_speed(o, r->settings[i]);
        say_values(o, r->settings[i], adapter_columns + ADAPTER_KEYS, columns - ADAPTER_KEYS);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_reason(struct out *o, const Fabric__V1__RoceSetting *r,
                       const Fabric__V1__CongestionValue *v)
{
    out_row(o);
    say_speed(o, r);
    out_text(o, "to", "TO", OUT_PLAIN, to(r));
    out_fields(o, &v->base, "name", "VALUE", "value", "IS", NULL);
    out_text(o, "why", "BECAUSE", OUT_PLAIN, v->reason);
    out_row_end(o);
}

static void say_reasons(struct out *o, const Fabric__V1__GetRoceResponse *r)
{
    out_table(o, "reasons", why_columns, sizeof why_columns / sizeof *why_columns, false);
    for (size_t i = 0; i < r->n_settings; i++)
        for (size_t k = 0; k < r->settings[i]->n_values; k++)
            say_reason(o, r->settings[i], r->settings[i]->values[k]);
    out_table_end(o);
}

static void say_tables(struct session *s, const Fabric__V1__GetRoceResponse *r)
{
    out_record(s->out, NULL);
    say_ports(s->out, r);
    say_adapters(s->out, r);
    if (s->explain || s->out_format != OUT_TEXT)
        say_reasons(s->out, r);
    if (r->n_settings == 0)
        out_note(s->out, OUT_DIM, "No port has a link, or the profile is off.");
    out_record_end(s->out);
}

/* ---- configuration to paste ------------------------------------------------------------------ */

static void say_colour(struct out *o, const Fabric__V1__RoceSetting *r, const char *colour)
{
    out_note(o, OUT_PLAIN, "      \"wred_%s_enable\": \"true\",", colour);
    out_note(o, OUT_PLAIN, "      \"%s_min_threshold\": \"%u\",", colour,
             number_of(r, "kmin_bytes"));
    out_note(o, OUT_PLAIN, "      \"%s_max_threshold\": \"%u\",", colour,
             number_of(r, "kmax_bytes"));
    out_note(o, OUT_PLAIN, "      \"%s_drop_probability\": \"%u\",", colour,
             number_of(r, "pmax_percent"));
}

static void say_sonic(struct session *s, const Fabric__V1__GetRoceResponse *r)
{
    out_note(s->out, OUT_PLAIN, "{");
    out_note(s->out, OUT_PLAIN, "  \"WRED_PROFILE\": {");
    for (size_t i = 0; i < r->n_settings; i++) {
        const Fabric__V1__RoceSetting *one = r->settings[i];
        out_note(s->out, OUT_PLAIN, "    \"ROCE_%uG_%s\": {", one->mbps / 1000,
                 one->edge ? "ENDPORTS" : "SWITCHES");
        say_colour(s->out, one, "green");
        say_colour(s->out, one, "yellow");
        say_colour(s->out, one, "red");
        out_note(s->out, OUT_PLAIN, "      \"ecn\": \"ecn_all\"");
        out_note(s->out, OUT_PLAIN, "    }%s", i + 1 < r->n_settings ? "," : "");
    }
    out_note(s->out, OUT_PLAIN, "  }");
    out_note(s->out, OUT_PLAIN, "}");
}

/* Prints the settings of an adapter for mlx5_ib. The driver's byte counter is turned off,
 * because it has only 15 bits and the timer expires first anyway. The driver expects the gain as
 * 1024 * (1 - g), where g is the gain with which DCQCN updates alpha. */
static void say_mlx5_adapter(struct out *o, const Fabric__V1__RoceSetting *r)
{
    unsigned gain = number_of(r, "inverse_gain");
    const struct {
        const char *file;
        unsigned value;
    } all[] = {
        {"np_min_time_between_cnps", number_of(r, "cnp_interval_us")},
        {"rp_rate_reduce_monitor_period", number_of(r, "cnp_interval_us")},
        {"rp_dce_tcp_rtt", number_of(r, "alpha_update_us")},
        {"rp_dce_tcp_g", gain > 0 ? 1024 - 1024 / gain : 0},
        {"rp_time_reset", number_of(r, "rate_increase_us")},
        {"rp_byte_reset", 0},
        {"rp_threshold", number_of(r, "recovery_stages")},
        {"rp_ai_rate", number_of(r, "additive_increase_mbps")},
        {"rp_hai_rate", number_of(r, "hyper_increase_mbps")},
    };
    out_note(o, OUT_PLAIN, "# adapters at %u Gbit/s; set DEVICE to the PCI address",
             r->mbps / 1000);
    out_note(o, OUT_PLAIN, "cc=/sys/kernel/debug/mlx5/$DEVICE/cc_params");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        out_note(o, OUT_PLAIN, "echo %u >\"$cc/%s\"", all[i].value, all[i].file);
}

static void say_mlx5(struct session *s, const Fabric__V1__GetRoceResponse *r)
{
    for (size_t i = 0; i < r->n_settings; i++)
        if (r->settings[i]->edge)
            say_mlx5_adapter(s->out, r->settings[i]);
}

/* ---- the command ----------------------------------------------------------------------------- */

typedef void say_format(struct session *s, const Fabric__V1__GetRoceResponse *r);

static say_format *find_format(const struct session *s)
{
    if (s->format == NULL)
        return say_tables;
    if (s->out_format == OUT_TEXT && strcmp(s->format, "sonic") == 0)
        return say_sonic;
    if (s->out_format == OUT_TEXT && strcmp(s->format, "mlx5") == 0)
        return say_mlx5;
    return NULL;
}

static int export(struct session *s)
{
    Fabric__V1__GetRoceRequest q = FABRIC__V1__GET_ROCE_REQUEST__INIT;
    Fabric__V1__GetRoceResponse *r = NULL;
    say_format *say = find_format(s);
    if (!s->roce)
        return complain(EXIT_USAGE, "cc export: --roce is required; there is no other export yet");
    if (say == NULL)
        return complain(EXIT_USAGE, "--format \"%s\": sonic or mlx5 is expected, and -o text",
                        s->format);
    int rc = ask(s, "GetRoce", &q.base, &fabric__v1__get_roce_response__descriptor, &r);
    if (rc == EXIT_OK)
        say(s, r);
    free_reply(r);
    return rc;
}

const struct cmd cmd_cc_export = {
    .noun = "cc",
    .verb = "export",
    .one_manager = true,
    .args = "--roce [--explain] [--format FORMAT]",
    .summary = "the corresponding ECN, PFC and DCQCN settings for Ethernet",
    .options = "REf",
    .formats = "sonic mlx5",
    .method = "fabric.v1.FabricService/GetRoce",
    .json = "switch_ports:[ mbps:u32 ports:u32 to:'endports'|'switches' kmin_bytes:u32 "
            "kmax_bytes:u32 pmax_percent:percent pause_bytes:u32 headroom_bytes:u32 ] "
            "adapters:[ mbps:u32 cnp_interval_us:u32 alpha_update_us:u32 inverse_gain:u32 "
            "rate_increase_us:u32 byte_counter_bytes:u32 recovery_stages:u32 "
            "additive_increase_mbps:u32 hyper_increase_mbps:u32 ] reasons:[ mbps:u32 "
            "to:'endports'|'switches' @CongestionValue(name value) why:text ]",
    .run = export,
};
