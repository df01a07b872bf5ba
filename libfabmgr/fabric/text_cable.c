/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the port lines of topology files:
 *
 *     [port][ext n](guid) "id"[port][ext n](guid) w=MASK s=MASK e=MASK # "name" lid 0 4xEDR
 *
 * Only the first port and the id are required; if the second port is missing, it is 1, as in ibsim.
 * The rate is taken from the words of the comment after the last quote. If they have no rate, it is
 * taken from ibsim's options, which are masks of the Enabled fields of PortInfo.
 */
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/device.h"
#include "libfabmgr/fabric/rate.h"
#include "libfabmgr/fabric/text_read.h"

static int read_port_number(struct text_reader *r, uint64_t max, uint8_t *ret)
{
    uint64_t num = 0;
    int status = fab_fabric_scan_number(&r->scan, "a port number", max, &num);
    if (status == FAB_OK && num == 0)
        return fab_fabric_scan_fail(&r->scan, r->scan.at - 1,
                                    "port 0 has no cable, expected 1 to %u", (unsigned)max);
    if (status == FAB_OK)
        status = fab_fabric_scan_expect(&r->scan, ']');
    if (status == FAB_OK)
        *ret = (uint8_t)num;
    return status;
}

/* Skips a text like "[ext 5]", which gives the port number printed on the chassis. */
static int skip_ext(struct text_reader *r)
{
    if (!fab_fabric_scan_is(&r->scan, "[ext"))
        return FAB_OK;
    const char *close = memchr(r->scan.at, ']', (size_t)(r->scan.eol - r->scan.at));
    if (close == NULL)
        return fab_fabric_scan_unexpected(&r->scan, "']' after [ext");
    r->scan.at = close + 1;
    return FAB_OK;
}

static int read_port_guid(struct text_reader *r, uint64_t *ret)
{
    int status = skip_ext(r);
    if (status != FAB_OK || !fab_fabric_scan_take(&r->scan, '('))
        return status;
    status = fab_fabric_scan_hex(&r->scan, "a port GUID", ret);
    return status != FAB_OK ? status : fab_fabric_scan_expect(&r->scan, ')');
}

static int read_peer(struct text_reader *r, struct text_cable *c)
{
    c->peer_port = 1;
    int status = fab_fabric_scan_quoted(&r->scan, "the id of the node at the other end, in quotes",
                                        &c->peer);
    if (status == FAB_OK && !fab_fabric_scan_is(&r->scan, "[ext") &&
        fab_fabric_scan_take(&r->scan, '['))
        status = read_port_number(r, 254, &c->peer_port);
    return status != FAB_OK ? status : read_port_guid(r, &c->peer_guid);
}

/* The rate of a port, while its line is read. named: a word of the comment has set the rate;
 * ibsim's options are then ignored. masked: an option s= or e= has set the speed. */
struct rate_words {
    struct fab_port_info *rate;
    bool named, masked;
};

static int apply_option(struct rate_words *w, char option, uint64_t mask)
{
    if (option == 'w')
        return fab_fabric_rate_width_mask(w->rate, mask);
    if (option == 'e')
        return fab_fabric_rate_extended_mask(w->rate, mask);
    if (option != 's')
        return FAB_E_FORMAT;
    if (!w->masked)
        fab_fabric_rate_extended_mask(w->rate, 0);
    return fab_fabric_rate_speed_mask(w->rate, mask);
}

/* Applies an option like "w=2". Returns false if the token is not an option, or if its mask is not
 * valid. */
static bool read_option(struct rate_words *w, struct span token)
{
    struct fab_text_error ignored;
    struct text_scan s;
    uint64_t mask;
    fab_fabric_scan_init(&s, token.s, token.len, &ignored);
    if (token.len < 3 || token.s[1] != '=' || !fab_fabric_scan_line(&s))
        return false;
    s.at += 2;
    if (fab_fabric_scan_number(&s, "a mask", UINT64_MAX, &mask) != FAB_OK ||
        !fab_fabric_scan_at_end(&s))
        return false;
    if (w->named)
        return true; /* ignores the option: the rate in the comment takes precedence */
    if (apply_option(w, token.s[0], mask) != FAB_OK)
        return false;
    w->masked |= token.s[0] != 'w';
    return true;
}

static bool read_rate_word(struct rate_words *w, struct span token)
{
    if (fab_fabric_text_parse_rate(token.s, token.len, w->rate) != FAB_OK)
        return read_option(w, token);
    w->named = true;
    return true;
}

static struct span next_token(struct text_scan *s)
{
    fab_fabric_scan_at_end(s); /* called only to skip blanks */
    struct span token = {.s = s->at};
    while (s->at < s->eol && *s->at != ' ' && *s->at != '\t')
        s->at++;
    token.len = (size_t)(s->at - token.s);
    return token;
}

/* Reads the rest of a port line: options, then a comment. A word of the comment after the last
 * quote may be the rate. */
static int read_rate(struct text_reader *r, struct fab_port_info *rate, bool *ret_rated)
{
    struct text_scan *s = &r->scan;
    struct rate_words words = {.rate = rate};
    bool comment = false;
    while (s->at < s->eol) {
        if (!comment && fab_fabric_scan_take(s, '#')) {
            const char *quote = memrchr(s->at, '"', (size_t)(s->eol - s->at));
            s->at = quote != NULL ? quote + 1 : s->at;
            comment = true;
        }
        struct span token = next_token(s);
        if (token.len == 0)
            break;
        if (read_rate_word(&words, token))
            *ret_rated = true;
        else if (!comment) {
            s->at = token.s;
            return fab_fabric_scan_unexpected(
                s, "w=, s=, e= with a mask, a comment or the end of the line");
        }
    }
    return FAB_OK;
}

static int keep_cable(struct text_reader *r, const struct text_cable *c)
{
    if (r->cable_count == r->cable_room) {
        void *bigger =
            fab_base_grow(r->cables, sizeof *r->cables, r->cable_count + 1, &r->cable_room);
        if (bigger == NULL)
            return FAB_E_NOMEM;
        r->cables = bigger;
    }
    r->cables[r->cable_count++] = *c;
    return FAB_OK;
}

int fab_fabric_text_read_port(struct text_reader *r)
{
    struct text_cable c = {.ref = r->ref, .line = r->scan.number};
    struct fab_port_info rate = r->rate;
    if (!r->in_block)
        return fab_fabric_scan_unexpected(&r->scan, "a Switch, Ca or Rt line before a port line");
    fab_fabric_scan_expect(&r->scan, '[');
    c.column = (uint32_t)(r->scan.at - r->scan.line) + 1;
    int status = read_port_number(r, r->num_ports, &c.port);
    if (status == FAB_OK)
        status = read_port_guid(r, &c.guid);
    if (status == FAB_OK)
        status = read_peer(r, &c);
    if (status == FAB_OK)
        status = read_rate(r, &rate, &c.rated);
    if (status == FAB_OK)
        status = fab_fabric_device_plug(r->b, r->ref, c.port, c.guid, &rate);
    return status != FAB_OK ? status : keep_cable(r, &c);
}
