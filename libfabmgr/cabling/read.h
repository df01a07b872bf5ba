/* SPDX-License-Identifier: BSD-3-Clause */
/* The readers of plan files, one for each format. For this folder only. */
#ifndef LIBFABMGR_CABLING_READ_H
#define LIBFABMGR_CABLING_READ_H

#include "libfabmgr/cabling/plan.h"
#include "libfabmgr/fabric/text_scan.h"

/* Each reader adds the content of a text to the plan. Returns OK, FORMAT or NOMEM. */
int fab_cabling_read_netdiscover(struct fab_cabling_plan *p, const char *text, size_t len,
                                 struct fab_text_error *ret_error);
int fab_cabling_read_topo(struct fab_cabling_plan *p, const char *text, size_t len,
                          struct fab_text_error *ret_error);
int fab_cabling_read_csv(struct fab_cabling_plan *p, const char *text, size_t len,
                         struct fab_text_error *ret_error);

/* ---- for the readers of lists of links ------------------------------------------------------- */

/* Finds the node called `system` or, if `part` is not empty, "system/part". Adds the node if the
 * plan does not have it. Returns OK, FORMAT or NOMEM. */
int fab_cabling_read_node(struct fab_cabling_plan *p, struct text_scan *s, struct span system,
                          struct span part, uint32_t *ret_node);
/* Adds the link that the current line describes. Returns OK, FORMAT or NOMEM. */
int fab_cabling_read_link(struct fab_cabling_plan *p, struct text_scan *s,
                          const struct fab_cabling_link *link);
/* Reads a port number such as "17", "P17" or "Port 17". Returns false if the text is no port
 * number. */
bool fab_cabling_read_port(struct span text, uint8_t *ret_port);
/* Returns the text without blanks at its beginning and end. */
struct span fab_cabling_trim(struct span text);

#endif
