/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads plans in CSV: point-to-point lists, and the NDT files of NVIDIA UFM. Each row is a link.
 * The first row names the columns. Names are compared without case, blanks, '_', '#' and '-'; all
 * columns with other names are ignored:
 *
 *     point to point             NDT
 *     node_a, port_a             StartDevice, StartPort
 *     node_b, port_b             EndDevice, EndPort
 *     rate (4x HDR), speed       Speed (in Mb/s, of four lanes)
 *     rack_a, rack_b             rack # or StartDeviceLocation, EndDeviceLocation
 *     linktype                   LinkType: rows with another type than Data are ignored
 *
 * A port is a number ("17", "P17", "Port 17"), "Blade 16_Port 2/20" (port 20 of switch 2 of blade
 * 16 of a modular switch), or, for a host, an adapter with an optional port ("HCA-1", "mlx5_0/1",
 * "node-7 HCA-1").
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/name.h"
#include "libfabmgr/cabling/read.h"

enum column { NODE_A, PORT_A, NODE_B, PORT_B, RATE, SPEED, RACK_A, RACK_B, LINK_TYPE, COLUMNS };
static const char *const column_names[COLUMNS][3] = {
    [NODE_A] = {"nodea", "startdevice"},
    [PORT_A] = {"porta", "startport"},
    [NODE_B] = {"nodeb", "enddevice"},
    [PORT_B] = {"portb", "endport"},
    [RATE] = {"rate"},
    [SPEED] = {"speed"},
    [RACK_A] = {"racka", "rack", "startdevicelocation"},
    [RACK_B] = {"rackb", "enddevicelocation"},
    [LINK_TYPE] = {"linktype"},
};

#define FIELDS_MAX 64u

struct csv {
    struct fab_cabling_plan *plan;
    struct text_scan scan;
    /* [column] index in fields[] of this column's field; FIELDS_MAX: the file does not have the
     * column */
    unsigned field[COLUMNS];
    struct span fields[FIELDS_MAX]; /* the fields of the current row */
    unsigned count;
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* Splits the current line into fields at commas. A field in double quotes may contain commas, but
 * no double quotes. */
static int split(struct csv *c)
{
    struct text_scan *s = &c->scan;
    for (c->count = 0; c->count < FIELDS_MAX; c->count++) {
        bool quoted = fab_fabric_scan_take(s, '"');
        const char *from = s->at;
        const char *end = memchr(from, quoted ? '"' : ',', (size_t)(s->eol - from));
        if (quoted && end == NULL)
            return fab_fabric_scan_fail(s, from, "expected a closing quote");
        end = end != NULL ? end : s->eol;
        c->fields[c->count] = fab_cabling_trim((struct span){from, (size_t)(end - from)});
        s->at = end + quoted;
        if (quoted && !fab_fabric_scan_is(s, ",") && s->at < s->eol)
            return fab_fabric_scan_unexpected(s, "a comma after the quoted field");
        if (!fab_fabric_scan_take(s, ',')) {
            c->count++;
            return FAB_OK;
        }
    }
    return fab_fabric_scan_fail(s, s->at, "more than %u columns", FIELDS_MAX);
}

static struct span get(const struct csv *c, enum column column)
{
    return c->field[column] < c->count ? c->fields[c->field[column]] : (struct span){.s = ""};
}

/* Returns true if the field is the column name `name`. Case, blanks, '_', '#' and '-' do not
 * matter. */
static bool is_named(struct span field, const char *name)
{
    for (size_t i = 0; i < field.len; i++) {
        if (memchr(" _#-", field.s[i], 4) != NULL)
            continue;
        if (*name == '\0' || tolower((unsigned char)field.s[i]) != *name++)
            return false;
    }
    return *name == '\0';
}

/* Returns the field without "#Fields:". Some NDT files begin the row of column names with this
 * word. */
static struct span without_mark(struct span field)
{
    static const char mark[] = "#Fields:";
    const size_t len = sizeof mark - 1;
    if (field.len > len && strncasecmp(field.s, mark, len) == 0)
        return (struct span){field.s + len, field.len - len};
    return field;
}

/* Returns the index of the field of this column in the row of column names. A column can have
 * several names; they are tried in the order of the table. */
static unsigned find_column(const struct csv *c, enum column column)
{
    for (unsigned i = 0; i < 3 && column_names[column][i] != NULL; i++)
        for (unsigned field = 0; field < c->count; field++)
            if (is_named(without_mark(c->fields[field]), column_names[column][i]))
                return field;
    return FIELDS_MAX;
}

/* Reads the row of column names, which may be in a comment. Sets *ret_named to true if the row has
 * the columns of both nodes and both ports. If it does not, *ret_named does not become true, and
 * the function returns FORMAT unless the row is a comment. */
static int read_header(struct csv *c, bool comment, bool *ret_named)
{
    int rc = split(c);
    if (rc != FAB_OK)
        return comment ? FAB_OK : rc;
    bool all = true;
    for (unsigned i = 0; i < COLUMNS; i++) {
        c->field[i] = find_column(c, i);
        all = all && (c->field[i] != FIELDS_MAX || i > PORT_B);
    }
    *ret_named = all;
    if (all || comment)
        return FAB_OK;
    return fab_fabric_scan_fail(
        &c->scan, c->scan.line,
        "expected a row with the names of the columns: node_a,port_a,node_b,port_b, or "
        "#StartDevice,StartPort,EndDevice,EndPort; or another format: ibnetdiscover, .topo");
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* Reads a port such as "Blade 16_Port 2/20"; in this example, `part` becomes "L16/U2". Returns
 * false if the text is not of this form. */
static bool read_blade(struct span text, char part[16], uint8_t *ret_port)
{
    static const char word[] = "blade ", port[] = "_port ";
    uint64_t blade = 0, asic = 0, number = 0;
    const char *end = text.s + text.len, *at = text.s + sizeof word - 1;
    if (text.len < sizeof word || strncasecmp(text.s, word, sizeof word - 1) != 0)
        return false;
    const char *after = fab_base_digits_read(at, end, 10, 99, &blade);
    if (after == NULL || after == at || (size_t)(end - after) < sizeof port ||
        strncasecmp(after, port, sizeof port - 1) != 0)
        return false;
    at = after + sizeof port - 1;
    after = fab_base_digits_read(at, end, 10, 99, &asic);
    if (after == NULL || after == at || after == end || *after != '/' ||
        !fab_base_digits_parse(after + 1, (size_t)(end - after) - 1, 10, 254, &number) ||
        number == 0)
        return false;
    snprintf(part, 16, "L%02u/U%u", (unsigned)blade, (unsigned)asic);
    *ret_port = (uint8_t)number;
    return true;
}

/* Reads the port of a host: the name of an adapter, and optionally a slash and the port number. The
 * name of the host may come before the adapter. */
static int read_adapter(struct csv *c, struct span host, struct span text, uint32_t *ret_node,
                        uint8_t *ret_port)
{
    const char *slash = memrchr(text.s, '/', text.len);
    *ret_port = 1;
    if (text.len > host.len && strncasecmp(text.s, host.s, host.len) == 0 &&
        (text.s[host.len] == ' ' || text.s[host.len] == '/'))
        text = (struct span){text.s + host.len + 1, text.len - host.len - 1};
    if (slash != NULL && slash > text.s) {
        struct span number = {slash + 1, (size_t)(text.s + text.len - slash) - 1};
        if (!fab_cabling_read_port(number, ret_port))
            return fab_fabric_scan_fail(&c->scan, slash + 1,
                                        "expected the number of a port, 1 to 254, after the slash");
        text.len = (size_t)(slash - text.s);
    }
    return fab_cabling_read_node(c->plan, &c->scan, host, fab_cabling_trim(text), ret_node);
}

static int read_end(struct csv *c, enum column node, enum column port, uint32_t *ret_node,
                    uint8_t *ret_port)
{
    struct span name = get(c, node), text = get(c, port), part = {.s = ""};
    char blade[16];
    if (text.len == 0)
        return fab_fabric_scan_fail(&c->scan, c->scan.line, "expected a port of %.*s, found none",
                                    (int)(name.len < 60 ? name.len : 60), name.s);
    if (read_blade(text, blade, ret_port))
        part = (struct span){blade, strlen(blade)};
    else if (!fab_cabling_read_port(text, ret_port))
        return read_adapter(c, name, text, ret_node, ret_port);
    return fab_cabling_read_node(c->plan, &c->scan, name, part, ret_node);
}

/* Reads a rate such as "4x HDR", "HDR", or 200000 (Mb/s of four lanes). */
static int read_rate(struct csv *c, struct span text, struct fab_link_modes *ret)
{
    static const uint32_t total[] = {10000, 20000, 40000, 56000, 100000, 200000, 400000, 800000};
    struct fab_port_info info = {0};
    char lanes[24];
    uint64_t rate;
    if (text.len == 0)
        return FAB_OK;
    if (fab_base_digits_parse(text.s, text.len, 10, UINT32_MAX, &rate))
        for (unsigned i = 0; i < sizeof total / sizeof *total; i++)
            if (rate == total[i]) {
                *ret = (struct fab_link_modes){.widths = 1u << 2, .speeds = (uint8_t)(1u << i)};
                return FAB_OK;
            }
    bool bare = text.len <= 5 && memchr(text.s, 'x', text.len) == NULL;
    int len = snprintf(lanes, sizeof lanes, "%s%.*s", bare ? "4x " : "",
                       (int)(text.len < 16 ? text.len : 16), text.s);
    if (fab_fabric_text_parse_rate(lanes, (size_t)len, &info) != FAB_OK)
        return fab_fabric_scan_fail(&c->scan, text.s,
                                    "expected a rate such as 4x HDR, HDR or 200000 (Mb/s)");
    *ret = fab_wire_link_modes(&info, FAB_LINK_ACTIVE);
    if (bare)
        ret->widths = 0;
    return FAB_OK;
}

/* ---- links ----------------------------------------------------------------------------------- */

static int read_row(struct csv *c)
{
    struct fab_cabling_link link = {0};
    struct span type = {0};
    int rc = split(c);
    if (rc == FAB_OK)
        type = get(c, LINK_TYPE);
    if (rc == FAB_OK && type.len > 0 && !is_named(type, "data"))
        return FAB_OK;
    if (rc == FAB_OK)
        rc = read_end(c, NODE_A, PORT_A, &link.node[0], &link.port[0]);
    if (rc == FAB_OK)
        rc = read_end(c, NODE_B, PORT_B, &link.node[1], &link.port[1]);
    if (rc == FAB_OK)
        rc = read_rate(c, get(c, SPEED), &link.rate);
    if (rc == FAB_OK)
        rc = read_rate(c, get(c, RATE), &link.rate);
    for (unsigned i = 0; i < 2 && rc == FAB_OK; i++) {
        struct span rack = get(c, i == 0 ? RACK_A : RACK_B);
        rc = fab_cabling_plan_set_rack(c->plan, link.node[i], rack.s, rack.len);
    }
    return rc == FAB_OK ? fab_cabling_read_link(c->plan, &c->scan, &link) : rc;
}

int fab_cabling_read_csv(struct fab_cabling_plan *p, const char *text, size_t len,
                         struct fab_text_error *ret_error)
{
    struct csv c = {.plan = p};
    bool named = false;
    int rc = FAB_OK;
    fab_fabric_scan_init(&c.scan, text, len, ret_error);
    while (rc == FAB_OK && fab_fabric_scan_line(&c.scan)) {
        bool comment = fab_fabric_scan_is(&c.scan, "#");
        if (c.scan.at == c.scan.eol)
            continue;
        if (!named) {
            rc = read_header(&c, comment, &named);
        } else if (!comment) {
            rc = read_row(&c);
        }
    }
    /* for an empty file, the error is reported in line 1 */
    c.scan.number += c.scan.number == 0;
    if (rc == FAB_OK && p->link_count == 0)
        return fab_fabric_scan_fail(&c.scan, c.scan.line, "the plan has no link");
    return rc;
}
