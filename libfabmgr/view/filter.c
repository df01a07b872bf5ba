/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/view/filter.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/glob.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/view/name.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool matches(const struct fab_view_filter *f, size_t len, const char *text, size_t text_len)
{
    return fab_base_glob_matches(f->what, len, text, text_len);
}

/* Compares the first `len` characters of the pattern with the names of a node. */
static bool names_match(const struct fab_view_filter *f, size_t len, uint32_t node)
{
    const struct fab_node *n = &f->view->fabric->nodes[node];
    const struct fab_locations *locations = f->view->policy.locations;
    const char *end = n->name;
    while (*end != '\0' && !fab_view_ends_word(end))
        end++;
    if (matches(f, len, n->name, strlen(n->name)) ||
        (*end != '\0' && matches(f, len, n->name, (size_t)(end - n->name))))
        return true;
    if (strcmp(n->name, n->desc) != 0 && matches(f, len, n->desc, strlen(n->desc)))
        return true;
    const char *host = locations != NULL ? fab_hosts_location(locations, n)->host : "";
    return host[0] != '\0' && matches(f, len, host, strlen(host));
}

/* Returns true if NODE of "NODE/PORT" names the node. */
static bool is_node_of_port(struct fab_view_filter *f, uint32_t node)
{
    if (!f->pattern)
        return f->node == node;
    if (f->last != node) {
        f->last = node;
        f->last_matched = names_match(f, f->node_len, node);
    }
    return f->last_matched;
}

static bool is_in_rack(const struct fab_view_filter *f, uint32_t node)
{
    const struct fab_location *l =
        fab_hosts_location_of(f->hosts, f->view->fabric, f->view->policy.locations, node);
    return fab_hosts_is_rack(l->rack, f->rack);
}

static bool is_named(const struct fab_view_filter *f, uint32_t node)
{
    if (f->rack != NULL)
        return is_in_rack(f, node);
    if (!f->pattern)
        return !f->has_port && (f->node == FAB_NONE || f->node == node);
    return names_match(f, strlen(f->what), node);
}

/* ---- ports ----------------------------------------------------------------------------------- */

static bool number_matches(const struct fab_view_filter *f, uint8_t number)
{
    const char *glob = f->what + f->node_len + 1;
    char text[4];
    int len = snprintf(text, sizeof text, "%u", number);
    return fab_base_glob_matches(glob, strlen(glob), text, (size_t)len);
}

bool fab_view_filter_port(struct fab_view_filter *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f->view->fabric, port);
    if (!f->has_port)
        return f->pattern ? is_node_of_port(f, p->node) : is_named(f, p->node);
    return (number_matches(f, p->num) && is_node_of_port(f, p->node)) ||
           (f->pattern && is_named(f, p->node));
}

bool fab_view_filter_node(struct fab_view_filter *f, uint32_t node)
{
    const struct fab_node *n = &f->view->fabric->nodes[node];
    if (is_named(f, node))
        return true;
    for (uint32_t i = 0; f->has_port && is_node_of_port(f, node) && i <= n->num_ports; i++)
        if (number_matches(f, (uint8_t)i))
            return true;
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Divides "NODE/PORT". Returns false if the text has another form. */
static bool split(struct fab_view_filter *f)
{
    const char *slash = strrchr(f->what, '/');
    if (slash == NULL || slash == f->what || slash[1] == '\0' ||
        slash[1 + strspn(slash + 1, "0123456789*?[],-")] != '\0')
        return false;
    f->node_len = (size_t)(slash - f->what);
    return true;
}

static int read_pattern(struct fab_view_filter *f, char *why, size_t why_len)
{
    f->pattern = true;
    for (uint32_t n = 0; n < f->view->fabric->node_count; n++)
        if (fab_view_filter_node(f, n))
            return FAB_OK;
    snprintf(why, why_len,
             "no %s matches \"%.100s\"; * is any text, ? any character, and [1-8] "
             "a number",
             f->has_port ? "port" : "node", f->what);
    return FAB_E_NOT_FOUND;
}

/* Reads "NODE/PORT", where NODE is not a pattern. */
static int read_port(struct fab_view_filter *f, const char *node, char *why, size_t why_len)
{
    int rc = fab_view_find_node(f->view, node, &f->node, why, why_len);
    if (rc != FAB_OK)
        return rc;
    const struct fab_node *n = &f->view->fabric->nodes[f->node];
    for (uint32_t i = 0; i <= n->num_ports; i++)
        if (number_matches(f, (uint8_t)i))
            return FAB_OK;
    snprintf(why, why_len, "\"%s\" has no port %.40s; its ports are 1 to %u", n->name,
             f->what + f->node_len + 1, n->num_ports);
    return FAB_E_NOT_FOUND;
}

/* Reads a text other than the name of a node or host: a pattern, or "NODE/PORT". */
static int read_other(struct fab_view_filter *f, char *why, size_t why_len)
{
    char node[FAB_FILTER_TEXT_MAX + 1];
    bool glob = fab_base_is_glob(f->what);
    f->has_port = split(f);
    snprintf(node, sizeof node, "%.*s", (int)f->node_len, f->what);
    if (!f->has_port)
        return glob ? read_pattern(f, why, why_len) : FAB_E_NOT_FOUND;
    if (glob && fab_base_is_glob(node))
        return read_pattern(f, why, why_len);
    int rc = read_port(f, node, why, why_len);
    /* NODE can be the host of several adapters; a pattern for PORT then selects ports of all of
     * them */
    return rc == FAB_E_EXISTS && glob ? read_pattern(f, why, why_len) : rc;
}

/* Reads a text that matches several nodes, as the name of a host with several adapters. Such a name
 * stands for all adapters of the host. Returns EXISTS if the text is no such name: it is the whole
 * name of several nodes, or the name of a switch or router. */
static int read_host(struct fab_view_filter *f)
{
    uint32_t adapters = 0;
    for (uint32_t n = 0; n < f->view->fabric->node_count; n++) {
        if (!names_match(f, f->node_len, n))
            continue;
        const struct fab_node *node = &f->view->fabric->nodes[n];
        if (node->type != FAB_NODE_CA || matches(f, f->node_len, node->name, strlen(node->name)))
            return FAB_E_EXISTS;
        adapters++;
    }
    f->pattern = adapters > 0;
    return adapters > 0 ? FAB_OK : FAB_E_EXISTS;
}

/* Reads the name of a rack. Returns NOT_FOUND if the view has no node in such a rack. */
static int read_rack(struct fab_view_filter *ret, const struct fab_hosts *hosts, const char *rack)
{
    struct fab_view_filter f = {.view = ret->view,
                                .what = ret->what,
                                .node = FAB_NONE,
                                .rack = rack,
                                .hosts = hosts,
                                .node_len = ret->node_len,
                                .last = FAB_NONE};
    for (uint32_t n = 0; n < f.view->fabric->node_count; n++)
        if (is_in_rack(&f, n)) {
            *ret = f;
            return FAB_OK;
        }
    return FAB_E_NOT_FOUND;
}

/* Reads a text that is not the name of one node. `rc`: NOT_FOUND if it names no node, or EXISTS if
 * it matches several nodes. */
static int read_several(struct fab_view_filter *f, const struct fab_hosts *hosts, int rc, char *why,
                        size_t why_len)
{
    rc = rc == FAB_E_EXISTS ? read_host(f) : read_other(f, why, why_len);
    if (rc != FAB_E_NOT_FOUND || hosts == NULL || fab_base_is_glob(f->what))
        return rc;
    return read_rack(f, hosts, f->what);
}

int fab_view_filter_read(struct fab_view_filter *ret, const struct fab_view *v,
                         const struct fab_hosts *hosts, const char *what, char *why, size_t why_len)
{
    struct fab_view_filter f = {.view = v, .what = what, .node = FAB_NONE, .last = FAB_NONE};
    int rc = FAB_OK;
    f.node_len = strlen(what);
    if (f.node_len > FAB_FILTER_TEXT_MAX) {
        snprintf(why, why_len, "the name is too long: at most %u characters are accepted",
                 FAB_FILTER_TEXT_MAX);
        return FAB_E_INVAL;
    }
    if (strncmp(what, FAB_FILTER_RACK, strlen(FAB_FILTER_RACK)) == 0 && hosts != NULL) {
        rc = read_rack(&f, hosts, what + strlen(FAB_FILTER_RACK));
        if (rc != FAB_OK)
            snprintf(why, why_len,
                     "no node is in a rack \"%.80s\"; 'fabricctl rack list' lists the racks",
                     what + strlen(FAB_FILTER_RACK));
    } else if (what[0] != '\0') {
        rc = fab_view_find_node(v, what, &f.node, why, why_len);
        if (rc == FAB_E_NOT_FOUND || rc == FAB_E_EXISTS)
            rc = read_several(&f, hosts, rc, why, why_len);
    }
    if (rc == FAB_OK)
        *ret = f;
    return rc;
}
