/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cabling plan: which port should be connected to which port, and at which rate.
 *
 * A plan is read from one or several files, for example one file with the links between switches
 * and one with the links of hosts. The reader recognises the format of each file from its text:
 *
 *   - ibnetdiscover text, saved while the fabric was known to be good, or written for ibsim
 *   - ibutils .topo files (read_topo.c)
 *   - CSV: NVIDIA UFM's NDT files, and point-to-point lists (read_csv.c)
 */
#ifndef LIBFABMGR_CABLING_PLAN_H
#define LIBFABMGR_CABLING_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/fabric/text.h"

struct fab_cabling_node {
    const char *name; /* name of the node as the plan spells it */
    const char *key;  /* key of the name (fab_cabling_key) */
    const char *rack; /* name of the rack; "": not given in the plan */
    uint64_t guid;    /* node GUID; 0: not given in the plan */
    uint8_t type;     /* enum fab_node_type; 0: not given in the plan */
    uint8_t ports;    /* highest port number of the node in the plan */
};
struct fab_cabling_link {
    uint32_t node[2];
    uint8_t port[2];
    /* planned width and speed, one bit in each set (libfabmgr/wire/wire.h); a set without bits: not
     * given in the plan */
    struct fab_link_modes rate;
};
struct fab_cabling_plan {
    struct fab_cabling_node *nodes; /* [node_count] nodes of the plan */
    struct fab_cabling_link *links; /* [link_count] links of the plan */
    uint32_t node_count, link_count;
    const char *format; /* format of the last file read, such as "ibnetdiscover" */
    /* The members from here on are private. */
    size_t node_room, link_room;
    struct fab_arena arena;
    struct fab_map names; /* hash of a key -> index in nodes[] of the node with this key */
    struct fab_map ports; /* node id and port number -> index in links[] of the link at this port */
};

struct fab_cabling_plan *fab_cabling_plan_new(void);    /* returns NULL if memory ran out */
void fab_cabling_plan_free(struct fab_cabling_plan *p); /* p may be NULL */

/* Adds a file to the plan. Returns FORMAT or NOMEM. After FORMAT, *ret_error has the position and
 * the reason, and a part of the file may have been added. */
int fab_cabling_plan_read(struct fab_cabling_plan *p, const char *text, size_t len,
                          struct fab_text_error *ret_error);
/* Adds all nodes of a fabric in the order of their ids, with their GUIDs, even if the plan has
 * nodes with the same names. Returns OK or NOMEM. */
int fab_cabling_plan_add_nodes(struct fab_cabling_plan *p, const struct fab_fabric *f);
/* Adds all nodes (fab_cabling_plan_add_nodes) and links of a fabric, and the rates of the links if
 * `rates` is true. Returns NOMEM, or INVAL if a link connects a port with itself. */
int fab_cabling_plan_add_fabric(struct fab_cabling_plan *p, const struct fab_fabric *f, bool rates);

/* ---- for the readers of files ---------------------------------------------------------------- */

/* Finds the node whose name has the same key as this name (name.h), or adds a node. Returns NOMEM,
 * or RANGE if the name is empty or too long. */
int fab_cabling_plan_node(struct fab_cabling_plan *p, const char *name, size_t len,
                          uint32_t *ret_node);
int fab_cabling_plan_set_rack(struct fab_cabling_plan *p, uint32_t node, const char *rack,
                              size_t len);
/* Adds a link. If the plan already has this link, adds only its rate. Returns EXISTS (one of the
 * ports has another planned link, with index *ret_other), INVAL (both ends are the same port) or
 * NOMEM. */
int fab_cabling_plan_link(struct fab_cabling_plan *p, const struct fab_cabling_link *link,
                          uint32_t *ret_other);

#endif
