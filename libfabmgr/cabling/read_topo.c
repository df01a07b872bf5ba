/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads .topo files of ibutils (ibdm). A line that begins in the first column names a system, and
 * the indented lines below it the links of its ports:
 *
 *     MQM8700 leaf-1
 *        P1 -4x-50G-> HCA host-1 HCA-1/P1
 *        P21 -> MQM8700 spine-1 P1
 *
 * The words after the arrow are the type, the name and the port of the other system; the type is
 * not used. The width and the speed of a lane in Gb/s are optional. A port of a system with several
 * devices has a path: "L16/U2/P20" is port 20 of the node "core-1/L16/U2".
 *
 * Known gap: the port names of modular systems that only ibutils' .ibnl files can translate, such
 * as "L1/P3" on the front panel, are taken as nodes ("core-1/L1").
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/read.h"

static struct span next_word(struct text_scan *s)
{
    fab_fabric_scan_is(s, ""); /* skips blanks */
    struct span w = {.s = s->at};
    while (s->at < s->eol && *s->at != ' ' && *s->at != '\t')
        s->at++;
    w.len = (size_t)(s->at - w.s);
    return w;
}

static bool is(struct span word, const char *text)
{
    return word.len == strlen(text) && memcmp(word.s, text, word.len) == 0;
}

/* Reads the port of a system, such as "P1" or "L16/U2/P20". */
static int read_end(struct fab_cabling_plan *p, struct text_scan *s, struct span system,
                    uint32_t *ret_node, uint8_t *ret_port)
{
    struct span path = next_word(s), part = {.s = path.s};
    const char *slash = memrchr(path.s, '/', path.len);
    struct span number = path;
    if (slash != NULL) {
        part.len = (size_t)(slash - path.s);
        number = (struct span){.s = slash + 1, .len = path.len - part.len - 1};
    }
    if (!fab_cabling_read_port(number, ret_port))
        return fab_fabric_scan_fail(s, path.s,
                                    "expected a port such as P1 or L16/U2/P20, found: %.*s",
                                    (int)(path.len < 40 ? path.len : 40), path.s);
    return fab_cabling_read_node(p, s, system, part, ret_node);
}

/* Reads one word of an arrow: a width such as "4x", or the speed of a lane such as "25G" or
 * "EDR". */
static bool read_mode(struct span word, struct fab_link_modes *rate)
{
    static const char *const widths[] = {"1x", "2x", "4x", "8x", "12x"};
    static const char *const speeds[][2] = {{"2.5G", "SDR"}, {"5G", "DDR"},  {"10G", "QDR"},
                                            {"14G", "FDR"},  {"25G", "EDR"}, {"50G", "HDR"},
                                            {"100G", "NDR"}, {"200G", "XDR"}};
    for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++)
        if (is(word, widths[i])) {
            rate->widths = (uint8_t)(1u << i);
            return true;
        }
    for (unsigned i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (is(word, speeds[i][0]) || is(word, speeds[i][1])) {
            rate->speeds = (uint8_t)(1u << i);
            return true;
        }
    return false;
}

/* Reads an arrow such as "->", "-4x->" or "-4x-25G->". */
static int read_arrow(struct text_scan *s, struct fab_link_modes *rate)
{
    struct span arrow = next_word(s);
    const char *end = arrow.s + arrow.len - 2;
    if (arrow.len < 2 || memcmp(end, "->", 2) != 0 || arrow.s[0] != '-')
        return fab_fabric_scan_fail(s, arrow.s, "expected an arrow such as -> or -4x-25G->");
    for (const char *at = arrow.s; at < end;) {
        struct span word = {.s = at + 1};
        while (word.s + word.len < end && word.s[word.len] != '-')
            word.len++;
        if (!read_mode(word, rate))
            return fab_fabric_scan_fail(
                s, word.s, "expected a width such as 4x or a speed such as 25G in the arrow");
        at = word.s + word.len;
    }
    return FAB_OK;
}

static int read_line(struct fab_cabling_plan *p, struct text_scan *s, struct span system)
{
    struct fab_cabling_link link = {0};
    int rc = read_end(p, s, system, &link.node[0], &link.port[0]);
    if (rc == FAB_OK)
        rc = read_arrow(s, &link.rate);
    if (rc != FAB_OK)
        return rc;
    struct span type = next_word(s), peer = next_word(s);
    if (type.len == 0 || peer.len == 0)
        return fab_fabric_scan_unexpected(s, "the type, the name and the port of the other system");
    rc = read_end(p, s, peer, &link.node[1], &link.port[1]);
    if (rc == FAB_OK)
        rc = fab_fabric_scan_end(s);
    return rc == FAB_OK ? fab_cabling_read_link(p, s, &link) : rc;
}

int fab_cabling_read_topo(struct fab_cabling_plan *p, const char *text, size_t len,
                          struct fab_text_error *ret_error)
{
    struct text_scan s;
    struct span system = {0};
    int rc = FAB_OK;
    fab_fabric_scan_init(&s, text, len, ret_error);
    while (rc == FAB_OK && fab_fabric_scan_line(&s)) {
        bool indented = s.at < s.eol && (*s.at == ' ' || *s.at == '\t');
        if (fab_fabric_scan_at_end(&s))
            continue;
        if (indented && system.len == 0)
            return fab_fabric_scan_fail(&s, s.at, "expected a system before its ports");
        if (indented) {
            rc = read_line(p, &s, system);
        } else {
            next_word(&s);
            system = next_word(&s);
            rc = system.len > 0 ? fab_fabric_scan_end(&s)
                                : fab_fabric_scan_unexpected(&s, "the name of the system");
        }
    }
    return rc;
}
