/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluates the port selectors of partitions and traffic classes for one port. */
#include "libfabmgr/target/selector.h"

#include <string.h>

#include "libfabmgr/base/match.h"

bool fab_target_name_matches(const char *desc, const char *pattern)
{
    return fab_base_pattern_matches(pattern, desc, strlen(desc)) ||
           fab_base_pattern_matches(pattern, desc, strcspn(desc, " \t"));
}

bool fab_target_pattern_is_any(const char *pattern)
{
    return *pattern == '*' && pattern[strspn(pattern, "*")] == '\0';
}

bool fab_target_node_matches(const struct fab_pins *pins, const struct fab_node *n,
                             const char *pattern)
{
    const char *name = n->desc;
    if (fab_target_pattern_is_any(pattern))
        return true;
    if (strcmp(n->name, n->desc) != 0 && fab_target_name_matches(n->name, pattern))
        return true; /* the operator gave this name, so it needs no pin */
    if (n->type != FAB_NODE_SWITCH)
        name = fab_policy_pins_name(pins, n->guid, n->desc);
    return name != NULL && fab_target_name_matches(name, pattern);
}

bool fab_target_selector_matches(const struct fab_fabric *f, const struct fab_pins *pins,
                                 const struct fab_port_selector *who, uint32_t port)
{
    const struct fab_node *n = &f->nodes[fab_fabric_port(f, port)->node];
    switch (who->kind) {
    case FAB_SELECT_ALL:
        return true;
    case FAB_SELECT_ADAPTERS:
        return n->type == FAB_NODE_CA;
    case FAB_SELECT_SWITCHES:
        return n->type == FAB_NODE_SWITCH;
    case FAB_SELECT_ROUTERS:
        return n->type == FAB_NODE_ROUTER;
    case FAB_SELECT_SELF:
        return port == f->self_port;
    case FAB_SELECT_GUID:
        return fab_fabric_port(f, port)->guid == who->guid;
    case FAB_SELECT_NAME:
        return fab_target_node_matches(pins, n, who->name);
    case FAB_SELECT_GROUP:
        break;
    }
    return false;
}
