/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints nodes and links that were part of the fabric and have left it. */
#ifndef CLI_CTL_GONE_H
#define CLI_CTL_GONE_H

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"

/* Reads the arguments "[switch|adapter|router] [NODE]"; defined in cmd_node.c. If no type is given,
 * *ret_type stays unchanged. If no node is named, *ret_name is "". Returns the exit code. */
int read_type_and_node(const struct session *s, Fabric__V1__NodeType *ret_type, char **ret_name);
/* The next two functions print the nodes and the links that are gone, and return the exit code.
 * type 0: nodes of all types; node NULL: the links of all nodes. */
int list_gone_nodes(struct session *s, Fabric__V1__NodeType type);
int list_gone_links(struct session *s, const char *node);
/* Prints a node that is gone. */
void say_gone_node(struct out *o, const Fabric__V1__GoneNode *n);
/* Writes the earlier links of a node, and the nodes that it replaced, to an open record. */
void say_past(struct out *o, const Fabric__V1__GetNodeResponse *r);

#endif
