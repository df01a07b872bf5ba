/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The families of metrics about ports, under three sets of names: our own, those of
 * treydock/infiniband_exporter, and those of guilbaults/infiniband-exporter, so that existing
 * dashboards and alerting rules still work. The counters are those of the devices, and have the
 * same values in all sets, with one exception: the set of guilbaults has PortXmitData and
 * PortRcvData in words of 4 bytes, the other sets have them in bytes. If a device or another
 * program resets a counter, Prometheus recognises the reset.
 *
 * Gap: there are no series for counters that fabricd does not read (QP1Dropped,
 * PortRcvErrorDetails, PortXmitDiscardDetails), for power and fans, and for the metrics that the
 * exporters have about themselves.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/metrics/private.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/wire.h"

#define BYTES_PER_MBIT 125000 /* 1 Mb/s in bytes per second */
#define WORD_BYTES 4

/* ---- values ---------------------------------------------------------------------------------- */

enum value {
    VALUE_ERROR, /* an error counter: VALUE_ERROR + its number in enum fab_counter */
    VALUE_XMIT_BYTES = VALUE_ERROR + FAB_COUNTERS,
    VALUE_RCV_BYTES,
    VALUE_XMIT_WORDS,
    VALUE_RCV_WORDS,
    VALUE_XMIT_PKTS,
    VALUE_RCV_PKTS,
    VALUE_UNICAST_XMIT_PKTS,
    VALUE_UNICAST_RCV_PKTS,
    VALUE_MULTICAST_XMIT_PKTS,
    VALUE_MULTICAST_RCV_PKTS,
    VALUE_XMIT_WAIT,
    VALUE_FECN,
    VALUE_BECN,
    VALUE_CONGESTION_EVENTS,
    /* Rates of the link in bytes per second. VALUE_RATE: the nominal rate. VALUE_DATA_RATE: the
     * rate of data. VALUE_SIGNAL_RATE: the signalling rate, which includes the overhead of
     * encoding. */
    VALUE_RATE,
    VALUE_DATA_RATE,
    VALUE_SIGNAL_RATE,
    VALUE_LANE_GBPS, /* signalling rate of a lane in Gb/s */
    VALUE_LANES,
    VALUE_DEGRADED,
    VALUE_UNHEALTHY,
    VALUE_ERRORS, /* all error counters, each as a sample of its own */
    VALUE_ONE
};

/* Rates of one lane in Mb/s. signal: the signalling rate; data: the rate of data, without the
 * overhead of encoding. */
static const struct speed {
    const char *name;
    double signal, data;
} speeds[] = {{"SDR", 2500, 2000},     {"DDR", 5000, 4000},      {"QDR", 10000, 8000},
              {"FDR", 14062.5, 13640}, {"EDR", 25781.25, 25000}, {"HDR", 53125, 50000},
              {"NDR", 106250, 100000}, {"XDR", 212500, 200000}};

static struct speed speed_of(const struct fab_port_info *info)
{
    const char *name = fab_wire_link_speed(info);
    for (size_t i = 0; i < sizeof(speeds) / sizeof(*speeds); i++)
        if (strcmp(speeds[i].name, name) == 0)
            return speeds[i];
    return (struct speed){0};
}

static bool has_value(const struct port_row *row, enum value v)
{
    const struct pm_reading *r = &row->reading;
    if (v < VALUE_XMIT_BYTES || v == VALUE_ERRORS)
        return row->is_read;
    if (v <= VALUE_RCV_PKTS)
        return row->is_read && r->has_traffic;
    if (v <= VALUE_MULTICAST_RCV_PKTS)
        return row->is_read && r->has_casts;
    if (v == VALUE_XMIT_WAIT)
        return row->is_read && r->has_wait;
    if (v <= VALUE_CONGESTION_EVENTS)
        return row->is_read && r->has_marks;
    return v == VALUE_DEGRADED ? row->degraded : v == VALUE_UNHEALTHY ? row->unhealthy : true;
}

static uint64_t count_of(const struct pm_reading *r, enum value v)
{
    switch ((unsigned)v) {
    case VALUE_XMIT_BYTES:
        return r->xmit_bytes;
    case VALUE_RCV_BYTES:
        return r->rcv_bytes;
    case VALUE_XMIT_WORDS:
        return r->xmit_bytes / WORD_BYTES;
    case VALUE_RCV_WORDS:
        return r->rcv_bytes / WORD_BYTES;
    case VALUE_XMIT_PKTS:
        return r->xmit_pkts;
    case VALUE_RCV_PKTS:
        return r->rcv_pkts;
    case VALUE_UNICAST_XMIT_PKTS:
        return r->unicast_xmit_pkts;
    case VALUE_UNICAST_RCV_PKTS:
        return r->unicast_rcv_pkts;
    case VALUE_MULTICAST_XMIT_PKTS:
        return r->multicast_xmit_pkts;
    case VALUE_MULTICAST_RCV_PKTS:
        return r->multicast_rcv_pkts;
    case VALUE_XMIT_WAIT:
        return r->xmit_wait;
    case VALUE_FECN:
        return r->fecn;
    case VALUE_BECN:
        return r->becn;
    case VALUE_CONGESTION_EVENTS:
        return r->congestion_events;
    default:
        return v < VALUE_XMIT_BYTES ? r->errors[v - VALUE_ERROR] : 1;
    }
}

static void write_value(struct fab_text *to, const struct port_row *row,
                        const struct fab_port_info *info, enum value v)
{
    double lanes = fab_wire_link_width(info);
    if (v == VALUE_RATE)
        page_number(to, (uint64_t)fab_wire_link_rate(info) * BYTES_PER_MBIT);
    else if (v == VALUE_DATA_RATE)
        fab_base_text_addf(to, "%.0f", speed_of(info).data * lanes * BYTES_PER_MBIT);
    else if (v == VALUE_SIGNAL_RATE)
        fab_base_text_addf(to, "%.0f", speed_of(info).signal * lanes * BYTES_PER_MBIT);
    else if (v == VALUE_LANE_GBPS)
        fab_base_text_addf(to, "%.9g", speed_of(info).signal / 1000);
    else if (v == VALUE_LANES)
        page_number(to, (uint64_t)lanes);
    else
        page_number(to, count_of(&row->reading, v));
}

/* ---- the sets of names ----------------------------------------------------------------------- */

/* whether a family has samples of the ports of switches, of other ports, or of all ports */
enum of { OF_SWITCHES = 1, OF_OTHERS = 2, OF_ALL = 3 };
/* The labels of a sample. LABELS_PORT: those of the port. LABELS_NODE: those of its node.
 * LABELS_UPLINK: those of the port, and those of the port at the other end of its link. */
enum labels { LABELS_PORT, LABELS_NODE, LABELS_UPLINK };
struct series {
    const char *name; /* name of the family */
    enum page_type type;
    enum of of;
    enum value value;
    enum labels labels;
    const char *help;
};

#define COUNTER(name, value, help)                                                                 \
    {                                                                                              \
        name, PAGE_COUNTER, OF_ALL, value, LABELS_PORT, help                                       \
    }
#define GAUGE(name, value, help)                                                                   \
    {                                                                                              \
        name, PAGE_GAUGE, OF_ALL, value, LABELS_PORT, help                                         \
    }
static const struct series own[] = {
    COUNTER("fabricd_port_transmit_bytes", VALUE_XMIT_BYTES, "Data that the port sent."),
    COUNTER("fabricd_port_receive_bytes", VALUE_RCV_BYTES, "Data that the port received."),
    COUNTER("fabricd_port_transmit_packets", VALUE_XMIT_PKTS, "Packets that the port sent."),
    COUNTER("fabricd_port_receive_packets", VALUE_RCV_PKTS, "Packets that the port received."),
    COUNTER("fabricd_port_transmit_wait_ticks", VALUE_XMIT_WAIT,
            "Ticks in which the port had data to send, but no credits (PortXmitWait)."),
    COUNTER("fabricd_port_fecn_packets", VALUE_FECN, "Packets with FECN that an endport received."),
    COUNTER("fabricd_port_becn_packets", VALUE_BECN, "Packets with BECN that an endport received."),
    COUNTER("fabricd_port_congestion_events", VALUE_CONGESTION_EVENTS,
            "How often a VL of a switch port became congested."),
    GAUGE("fabricd_port_rate_bytes_per_second", VALUE_RATE, "Nominal rate of the link."),
    GAUGE("fabricd_link_degraded", VALUE_DEGRADED,
          "1: the link runs below the best width or speed that both ports have enabled; other "
          "links have no sample."),
    GAUGE("fabricd_link_unhealthy", VALUE_UNHEALTHY,
          "1: an error counter of the link rose by its threshold recently; other links have no "
          "sample."),
    COUNTER("fabricd_port_errors", VALUE_ERRORS,
            "Error counters of the port, by their names in the IBA."),
    {0},
};

#define TREYDOCK(kind, of, name, type, value, counter)                                             \
    {                                                                                              \
        "infiniband_" kind "_port_" name, type, of, value, LABELS_PORT, counter " of a port."      \
    }
#define TREYDOCK_KIND(kind, of)                                                                    \
    TREYDOCK(kind, of, "transmit_data_bytes", PAGE_COUNTER, VALUE_XMIT_BYTES, "PortXmitData"),     \
        TREYDOCK(kind, of, "receive_data_bytes", PAGE_COUNTER, VALUE_RCV_BYTES, "PortRcvData"),    \
        TREYDOCK(kind, of, "transmit_packets", PAGE_COUNTER, VALUE_XMIT_PKTS, "PortXmitPkts"),     \
        TREYDOCK(kind, of, "receive_packets", PAGE_COUNTER, VALUE_RCV_PKTS, "PortRcvPkts"),        \
        TREYDOCK(kind, of, "unicast_transmit_packets", PAGE_COUNTER, VALUE_UNICAST_XMIT_PKTS,      \
                 "PortUnicastXmitPkts"),                                                           \
        TREYDOCK(kind, of, "unicast_receive_packets", PAGE_COUNTER, VALUE_UNICAST_RCV_PKTS,        \
                 "PortUnicastRcvPkts"),                                                            \
        TREYDOCK(kind, of, "multicast_transmit_packets", PAGE_COUNTER, VALUE_MULTICAST_XMIT_PKTS,  \
                 "PortMulticastXmitPkts"),                                                         \
        TREYDOCK(kind, of, "multicast_receive_packets", PAGE_COUNTER, VALUE_MULTICAST_RCV_PKTS,    \
                 "PortMulticastRcvPkts"),                                                          \
        TREYDOCK(kind, of, "symbol_error", PAGE_COUNTER, VALUE_ERROR + FAB_SYMBOL_ERRORS,          \
                 "SymbolErrorCounter"),                                                            \
        TREYDOCK(kind, of, "link_error_recovery", PAGE_COUNTER,                                    \
                 VALUE_ERROR + FAB_LINK_ERROR_RECOVERY, "LinkErrorRecoveryCounter"),               \
        TREYDOCK(kind, of, "link_downed", PAGE_COUNTER, VALUE_ERROR + FAB_LINK_DOWNED,             \
                 "LinkDownedCounter"),                                                             \
        TREYDOCK(kind, of, "receive_errors", PAGE_COUNTER, VALUE_ERROR + FAB_RCV_ERRORS,           \
                 "PortRcvErrors"),                                                                 \
        TREYDOCK(kind, of, "receive_remote_physical_errors", PAGE_COUNTER,                         \
                 VALUE_ERROR + FAB_RCV_REMOTE_PHYSICAL_ERRORS, "PortRcvRemotePhysicalErrors"),     \
        TREYDOCK(kind, of, "receive_switch_relay_errors", PAGE_COUNTER,                            \
                 VALUE_ERROR + FAB_RCV_SWITCH_RELAY_ERRORS, "PortRcvSwitchRelayErrors"),           \
        TREYDOCK(kind, of, "transmit_discards", PAGE_COUNTER, VALUE_ERROR + FAB_XMIT_DISCARDS,     \
                 "PortXmitDiscards"),                                                              \
        TREYDOCK(kind, of, "transmit_constraint_errors", PAGE_COUNTER,                             \
                 VALUE_ERROR + FAB_XMIT_CONSTRAINT_ERRORS, "PortXmitConstraintErrors"),            \
        TREYDOCK(kind, of, "receive_constraint_errors", PAGE_COUNTER,                              \
                 VALUE_ERROR + FAB_RCV_CONSTRAINT_ERRORS, "PortRcvConstraintErrors"),              \
        TREYDOCK(kind, of, "local_link_integrity_errors", PAGE_COUNTER,                            \
                 VALUE_ERROR + FAB_LOCAL_LINK_INTEGRITY_ERRORS, "LocalLinkIntegrityErrors"),       \
        TREYDOCK(kind, of, "excessive_buffer_overrun_errors", PAGE_COUNTER,                        \
                 VALUE_ERROR + FAB_EXCESSIVE_BUFFER_OVERRUN_ERRORS,                                \
                 "ExcessiveBufferOverrunErrors"),                                                  \
        TREYDOCK(kind, of, "vl15_dropped", PAGE_COUNTER, VALUE_ERROR + FAB_VL15_DROPPED,           \
                 "VL15Dropped"),                                                                   \
        TREYDOCK(kind, of, "transmit_wait", PAGE_COUNTER, VALUE_XMIT_WAIT, "PortXmitWait"),        \
        {"infiniband_" kind "_uplink",                                                             \
         PAGE_INFO,                                                                                \
         of,                                                                                       \
         VALUE_ONE,                                                                                \
         LABELS_UPLINK,                                                                            \
         "The port at the other end of the link."},                                                \
    {                                                                                              \
        "infiniband_" kind, PAGE_INFO, of, VALUE_ONE, LABELS_NODE, "The name and LID of a node."   \
    }
static const struct series treydock[] = {
    TREYDOCK_KIND("switch", OF_SWITCHES),
    TREYDOCK("switch", OF_SWITCHES, "rate_bytes_per_second", PAGE_GAUGE, VALUE_DATA_RATE,
             "Data rate"),
    TREYDOCK("switch", OF_SWITCHES, "raw_rate_bytes_per_second", PAGE_GAUGE, VALUE_SIGNAL_RATE,
             "Signalling rate"),
    TREYDOCK_KIND("hca", OF_OTHERS),
    {"infiniband_hca_rate_bytes_per_second", PAGE_GAUGE, OF_OTHERS, VALUE_DATA_RATE, LABELS_NODE,
     "Data rate of an adapter."},
    {"infiniband_hca_raw_rate_bytes_per_second", PAGE_GAUGE, OF_OTHERS, VALUE_SIGNAL_RATE,
     LABELS_NODE, "Signalling rate of an adapter."},
    {0},
};

static const struct series guilbaults[] = {
    COUNTER("infiniband_portxmitdata", VALUE_XMIT_WORDS, "Words of 4 bytes that the port sent."),
    COUNTER("infiniband_portrcvdata", VALUE_RCV_WORDS, "Words of 4 bytes that the port received."),
    COUNTER("infiniband_portxmitpkts", VALUE_XMIT_PKTS, "PortXmitPkts."),
    COUNTER("infiniband_portrcvpkts", VALUE_RCV_PKTS, "PortRcvPkts."),
    COUNTER("infiniband_portunicastxmitpkts", VALUE_UNICAST_XMIT_PKTS, "PortUnicastXmitPkts."),
    COUNTER("infiniband_portunicastrcvpkts", VALUE_UNICAST_RCV_PKTS, "PortUnicastRcvPkts."),
    COUNTER("infiniband_portmulticastxmitpkts", VALUE_MULTICAST_XMIT_PKTS,
            "PortMulticastXmitPkts."),
    COUNTER("infiniband_portmulticastrcvpkts", VALUE_MULTICAST_RCV_PKTS, "PortMulticastRcvPkts."),
    COUNTER("infiniband_portxmitwait", VALUE_XMIT_WAIT, "PortXmitWait."),
    COUNTER("infiniband_symbolerrorcounter", VALUE_ERROR + FAB_SYMBOL_ERRORS,
            "SymbolErrorCounter."),
    COUNTER("infiniband_linkerrorrecoverycounter", VALUE_ERROR + FAB_LINK_ERROR_RECOVERY,
            "LinkErrorRecoveryCounter."),
    COUNTER("infiniband_linkdownedcounter", VALUE_ERROR + FAB_LINK_DOWNED, "LinkDownedCounter."),
    COUNTER("infiniband_portrcverrors", VALUE_ERROR + FAB_RCV_ERRORS, "PortRcvErrors."),
    COUNTER("infiniband_portrcvremotephysicalerrors", VALUE_ERROR + FAB_RCV_REMOTE_PHYSICAL_ERRORS,
            "PortRcvRemotePhysicalErrors."),
    COUNTER("infiniband_portxmitdiscards", VALUE_ERROR + FAB_XMIT_DISCARDS, "PortXmitDiscards."),
    COUNTER("infiniband_locallinkintegrityerrors", VALUE_ERROR + FAB_LOCAL_LINK_INTEGRITY_ERRORS,
            "LocalLinkIntegrityErrors."),
    COUNTER("infiniband_vl15dropped", VALUE_ERROR + FAB_VL15_DROPPED, "VL15Dropped."),
    GAUGE("infiniband_speed", VALUE_LANE_GBPS, "Signalling rate of a lane in Gb/s."),
    GAUGE("infiniband_width", VALUE_LANES, "Lanes of the link."),
    {0},
};

static const struct series *series_of(enum config_metrics_names names)
{
    return names == CONFIG_METRICS_TREYDOCK     ? treydock
           : names == CONFIG_METRICS_GUILBAULTS ? guilbaults
                                                : own;
}

static bool has_sample(const struct series *s, const struct port_row *row,
                       const struct fab_fabric *f)
{
    enum of of = fab_fabric_node_is_switch(f, row->node) ? OF_SWITCHES : OF_OTHERS;
    return (s->of & of) && has_value(row, s->value) &&
           (s->labels != LABELS_UPLINK || row->peer_node != FAB_NONE);
}

uint32_t port_series_count(const struct port_row *row, const struct fab_fabric *f,
                           enum config_metrics_names names)
{
    uint32_t count = 0;
    for (const struct series *s = series_of(names); s->name; s++)
        if (has_sample(s, row, f))
            count += s->value == VALUE_ERRORS ? FAB_COUNTERS : 1;
    return count;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void add_guid(struct fab_text *to, const char *name, uint64_t guid)
{
    fab_base_text_addf(to, "%s=\"0x%016" PRIx64 "\"", name, guid);
}

static void add_name(struct fab_text *to, const char *label, const struct fab_fabric *f,
                     uint32_t node)
{
    char guid[24] = "";
    const struct fab_node *n = node != FAB_NONE ? &f->nodes[node] : NULL;
    if (n && n->desc[0] == '\0')
        snprintf(guid, sizeof(guid), "0x%016" PRIx64, n->guid);
    page_label(to, label, n && n->desc[0] != '\0' ? n->desc : guid);
}

/* Writes a label with the number of a port; its value is "" if the node is not known (FAB_NONE). */
static void add_port(struct fab_text *to, const char *name, uint32_t node, uint8_t port)
{
    fab_base_text_addf(to, node != FAB_NONE ? "%s=\"%u\"" : "%s=\"\"", name, (unsigned)port);
}

/* Returns the GUID of the port at the other end of the link; 0: not known. Ports of a switch have
 * the GUID of the switch. */
static uint64_t peer_port_guid(const struct port_row *row, const struct fab_fabric *f)
{
    const struct fab_port *p = fab_fabric_port(f, row->port_id);
    const struct fab_port *peer = p->peer != FAB_NONE ? fab_fabric_port(f, p->peer) : NULL;
    return peer && peer->guid != 0 ? peer->guid : row->peer_guid;
}

static void add_labels(struct fab_text *to, const struct port_row *row, const struct fab_fabric *f,
                       enum config_metrics_names names)
{
    uint64_t guid = f->nodes[row->node].guid;
    if (names == CONFIG_METRICS_TREYDOCK) {
        add_guid(to, "guid", guid);
        fab_base_text_addf(to, ",port=\"%u\"", (unsigned)row->port);
    } else if (names == CONFIG_METRICS_GUILBAULTS) {
        fab_base_text_addf(to, "component=\"%s\",",
                           fab_fabric_node_is_switch(f, row->node) ? "switch" : "ca");
        add_name(to, "local_name", f, row->node);
        add_guid(to, ",local_guid", guid);
        fab_base_text_addf(to, ",local_port=\"%u\"", (unsigned)row->port);
        add_guid(to, ",remote_guid", peer_port_guid(row, f));
        add_port(to, ",remote_port", row->peer_node, row->peer_port);
        add_name(to, ",remote_name", f, row->peer_node);
    } else {
        add_name(to, "node", f, row->node);
        fab_base_text_addf(to, ",port=\"%u\"", (unsigned)row->port);
        add_name(to, ",peer", f, row->peer_node);
        add_port(to, ",peer_port", row->peer_node, row->peer_port);
        add_guid(to, ",guid", guid);
    }
}

static uint32_t lid_of(const struct fab_fabric *f, uint32_t node, uint8_t port)
{
    uint8_t at = fab_fabric_node_is_switch(f, node) ? 0 : port;
    return fab_fabric_port(f, fab_fabric_port_id(f, node, at))->info.lid;
}

/* Writes the labels that only the info families of treydock have. */
static void add_more_labels(struct fab_text *to, const struct series *s, const struct port_row *row,
                            const struct fab_fabric *f)
{
    const char *kind = s->of == OF_SWITCHES ? ",switch" : ",hca";
    if (s->type != PAGE_INFO)
        return;
    add_name(to, kind, f, row->node);
    if (s->labels == LABELS_NODE) {
        fab_base_text_addf(to, ",lid=\"%u\"", lid_of(f, row->node, row->port));
        return;
    }
    add_name(to, ",uplink", f, row->peer_node);
    add_guid(to, ",uplink_guid", row->peer_guid);
    fab_base_text_addf(to, ",uplink_type=\"%s\",uplink_port=\"%u\",uplink_lid=\"%u\"",
                       fab_fabric_node_is_switch(f, row->peer_node) ? "SW" : "CA",
                       (unsigned)row->peer_port, lid_of(f, row->peer_node, row->peer_port));
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The labels of all rows in one text. The labels of row i begin at byte at[i] and end before byte
 * at[i + 1]. */
struct labels_text {
    struct fab_text text;
    size_t *at; /* [count + 1] */
};

static bool make_labels(const struct port_rows *rows, enum config_metrics_names names,
                        struct labels_text *ret)
{
    *ret = (struct labels_text){.at = calloc(rows->count + 1, sizeof(*ret->at))};
    for (size_t i = 0; ret->at && i < rows->count; i++) {
        add_labels(&ret->text, &rows->row[i], rows->fabric, names);
        ret->at[i + 1] = ret->text.len;
    }
    return ret->at && ret->text.status == FAB_OK;
}

static void begin_sample(struct fab_text *to, const struct series *s)
{
    static const char *const suffixes[] = {[PAGE_COUNTER] = "_total{", [PAGE_INFO] = "_info{"};
    fab_base_text_add(to, s->name);
    fab_base_text_add(to, s->type == PAGE_GAUGE ? "{" : suffixes[s->type]);
}

static void add_error_samples(struct fab_text *to, const struct series *s,
                              const struct port_row *row, const char *labels, size_t len)
{
    for (int i = 0; i < FAB_COUNTERS; i++) {
        begin_sample(to, s);
        fab_base_text_bytes(to, labels, len);
        fab_base_text_add(to, ",counter=\"");
        fab_base_text_add(to, fab_health_counter_kinds[i].name);
        fab_base_text_add(to, "\"} ");
        page_number(to, row->reading.errors[i]);
        fab_base_text_bytes(to, "\n", 1);
    }
}

static void add_sample(struct fab_text *to, const struct series *s, const struct port_rows *rows,
                       const struct port_row *row, const struct labels_text *labels)
{
    const struct fab_fabric *f = rows->fabric;
    size_t i = (size_t)(row - rows->row);
    const char *text = fab_base_text_get(&labels->text) + labels->at[i];
    size_t len = labels->at[i + 1] - labels->at[i];
    if (s->value == VALUE_ERRORS) {
        add_error_samples(to, s, row, text, len);
        return;
    }
    begin_sample(to, s);
    if (s->labels == LABELS_NODE)
        add_guid(to, "guid", f->nodes[row->node].guid);
    else
        fab_base_text_bytes(to, text, len);
    add_more_labels(to, s, row, f);
    fab_base_text_add(to, "} ");
    write_value(to, row, &fab_fabric_port(f, row->port_id)->info, s->value);
    fab_base_text_bytes(to, "\n", 1);
}

/* Writes one family. seen: memory for a bitset of nodes. A family with LABELS_NODE has one sample
 * for each node; the bitset marks the nodes whose sample was written. */
static void write_family(struct page *to, const struct series *s, const struct port_rows *rows,
                         const struct labels_text *labels, uint64_t *seen)
{
    page_family(to, s->name, s->type, s->help);
    fab_base_bits_zero(seen, rows->fabric->node_count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct port_row *row = &rows->row[i];
        bool skip = s->labels == LABELS_NODE && fab_base_bits_get(seen, row->node);
        if (skip || !has_sample(s, row, rows->fabric))
            continue;
        fab_base_bits_set(seen, row->node);
        add_sample(to->text, s, rows, row, labels);
    }
}

void page_ports(const struct port_rows *rows, enum config_metrics_names names, struct page *to)
{
    struct labels_text labels = {0};
    uint64_t *seen = NULL;
    if (!rows->fabric)
        return;
    seen = fab_base_bits_new(rows->fabric->node_count);
    if (seen && make_labels(rows, names, &labels))
        for (const struct series *s = series_of(names); s->name; s++)
            write_family(to, s, rows, &labels, seen);
    else
        to->text->status = FAB_E_NOMEM;
    fab_base_text_fini(&labels.text);
    free(labels.at);
    free(seen);
}
