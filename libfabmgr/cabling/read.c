/* SPDX-License-Identifier: BSD-3-Clause */
/* Recognises the format of a plan file. Also has the functions that the readers of the formats
 * share. */
#include "libfabmgr/cabling/read.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/name.h"

#define PORT_MAX 254

/* ---- formats --------------------------------------------------------------------------------- */

static bool begins_netdiscover(struct text_scan *s)
{
    static const char *const words[] = {"vendid=", "devid=",  "sysimgguid=", "switchguid=",
                                        "caguid=", "rtguid=", "Switch",      "Ca",
                                        "Hca",     "Rt"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if (fab_fabric_scan_is(s, words[i]) &&
            (words[i][len - 1] == '=' ||
             (s->at + len < s->eol && memchr("\t 0123456789", s->at[len], 12) != NULL)))
            return true;
    }
    return false;
}

static const struct format {
    const char *name;
    int (*read)(struct fab_cabling_plan *, const char *, size_t, struct fab_text_error *);
} formats[] = {
    {"ibnetdiscover", fab_cabling_read_netdiscover},
    {".topo", fab_cabling_read_topo},
    {"CSV", fab_cabling_read_csv},
};

/* Finds the format of the text. Each format has a mark: the syntax of ibnetdiscover text, "->" or a
 * comma. The first line with one of these marks determines the format; comments do not count. If no
 * line has a mark, returns CSV, because the CSV reader then reports an error that names the
 * formats. */
static const struct format *find_format(const char *text, size_t len)
{
    struct fab_text_error ignored;
    struct text_scan s;
    fab_fabric_scan_init(&s, text, len, &ignored);
    while (fab_fabric_scan_line(&s)) {
        size_t left = (size_t)(s.eol - s.line);
        if (fab_fabric_scan_is(&s, "#"))
            continue;
        if (begins_netdiscover(&s))
            return &formats[0];
        if (memmem(s.line, left, "->", 2) != NULL)
            return &formats[1];
        if (memchr(s.line, ',', left) != NULL)
            return &formats[2];
    }
    return &formats[2];
}

int fab_cabling_plan_read(struct fab_cabling_plan *p, const char *text, size_t len,
                          struct fab_text_error *ret_error)
{
    const struct format *f = find_format(text, len);
    p->format = f->name;
    return f->read(p, text, len, ret_error);
}

/* ---- for the readers of lists of links ------------------------------------------------------- */

struct span fab_cabling_trim(struct span text)
{
    while (text.len > 0 && (*text.s == ' ' || *text.s == '\t')) {
        text.s++;
        text.len--;
    }
    while (text.len > 0 && (text.s[text.len - 1] == ' ' || text.s[text.len - 1] == '\t'))
        text.len--;
    return text;
}

bool fab_cabling_read_port(struct span text, uint8_t *ret_port)
{
    static const char *const words[] = {"port", "p", ""};
    uint64_t port = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t word = strlen(words[i]);
        if (text.len <= word || strncasecmp(text.s, words[i], word) != 0)
            continue;
        struct span digits = fab_cabling_trim((struct span){text.s + word, text.len - word});
        if (!fab_base_digits_parse(digits.s, digits.len, 10, PORT_MAX, &port) || port == 0)
            continue;
        *ret_port = (uint8_t)port;
        return true;
    }
    return false;
}

int fab_cabling_read_node(struct fab_cabling_plan *p, struct text_scan *s, struct span system,
                          struct span part, uint32_t *ret_node)
{
    char name[FAB_CABLING_NAME_MAX + 1];
    size_t len = system.len + (part.len > 0 ? part.len + 1 : 0);
    if (system.len == 0)
        return fab_fabric_scan_fail(s, s->line, "expected the name of a node, found none");
    if (len > FAB_CABLING_NAME_MAX)
        return fab_fabric_scan_fail(s, s->line, "a name of %zu bytes, expected at most %u", len,
                                    FAB_CABLING_NAME_MAX);
    memcpy(name, system.s, system.len);
    if (part.len > 0) {
        name[system.len] = '/';
        memcpy(name + system.len + 1, part.s, part.len);
    }
    return fab_cabling_plan_node(p, name, len, ret_node);
}

int fab_cabling_read_link(struct fab_cabling_plan *p, struct text_scan *s,
                          const struct fab_cabling_link *link)
{
    uint32_t other;
    int rc = fab_cabling_plan_link(p, link, &other);
    if (rc == FAB_E_INVAL)
        return fab_fabric_scan_fail(s, s->line, "both ends are %s/%u", p->nodes[link->node[0]].name,
                                    link->port[0]);
    if (rc != FAB_E_EXISTS)
        return rc;
    const struct fab_cabling_link *o = &p->links[other];
    return fab_fabric_scan_fail(
        s, s->line, "one of these ports is planned already: %.60s/%u to %.60s/%u",
        p->nodes[o->node[0]].name, o->port[0], p->nodes[o->node[1]].name, o->port[1]);
}
