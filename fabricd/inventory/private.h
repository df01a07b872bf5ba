/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of the inventory. For this folder only. */
#ifndef FABRICD_INVENTORY_PRIVATE_H
#define FABRICD_INVENTORY_PRIVATE_H

#include "fabricd/agent/agent.h"
#include "fabricd/inventory/inventory.h"
#include "libfabmgr/base/map.h"

/* Maximum number of devices that are visited at a time. Each visit has one request in flight. */
#define INVENTORY_VISITS 8u

struct inventory_entry {
    struct inventory_node node;
    uint16_t lid; /* LID to which requests are sent; 0: the node has none */
    uint8_t ports;
    bool busy;    /* the device is visited now */
    bool in_view; /* the node is in the view with which the entries are being compared */
    /* due: time in us (manager's clock) at which the next visit that reads everything begins.
     * temperature_due: time at which the next visit that reads only temperatures begins. */
    uint64_t due, temperature_due;
    uint64_t links; /* hash of the links of the node when it was last seen */
};

/* The request that a visit sends next. The steps are in the order in which a visit takes them. */
enum inventory_step {
    STEP_GENERAL,
    STEP_SYSTEM,
    STEP_FAN_SET,
    STEP_FAN,
    STEP_PORT,   /* asks which module is plugged into the port */
    STEP_MODULE, /* reads a part of the memory of the module */
    STEP_ASIC,
    STEP_MODULE_TEMPERATURES,
    STEP_END
};
struct inventory_visit {
    bool active;
    bool waiting; /* a request is in flight */
    bool whole;   /* false: only temperatures are read */
    /* number of the visit; each request carries it in its tag, so that on_answer can drop late
     * answers to requests of an earlier visit */
    uint32_t number;
    uint64_t guid;
    uint16_t lid;
    uint8_t ports;
    enum inventory_step step;
    /* What the next request asks for. fan, port: the number of the fan or port. index: the index of
     * the module at this port. part: the part of the module's memory (enum fab_module_part). */
    uint8_t fan, port, index, part;
    uint16_t sensor;
    struct fab_module_memory memory;
    /* what the visit has read so far; inventory_take stores it */
    struct inventory_node read;
    size_t module_room;
};

struct inventory {
    struct inventory_input in;
    struct agent *agent;
    struct loop_timer *timer;
    struct fab_map index; /* node GUID -> index in entries[] */
    struct inventory_entry *entries;
    size_t count, room;
    size_t cursor;             /* index of the entry that the timer tick examines next */
    struct fab_view *compared; /* the view with which the entries were compared last, or NULL */
    /* view: the view with which the entries are being compared; NULL: no comparison is running.
     * next_node: id of the node that is compared next. */
    struct fab_view *view;
    uint32_t next_node;
    /* true: `view` has the same nodes and LIDs as `compared`, so only nodes whose name or links
     * have changed are compared */
    bool follows;
    struct inventory_visit visits[INVENTORY_VISITS];
    uint32_t number; /* number of the visit that began last */
    uint32_t tokens; /* number of requests that may still be sent until the next tick */
    /* a firmware version or the set of devices has changed, so the next comparison of firmware is
     * due */
    bool odd_due;
    bool odd_known;  /* firmware was compared since the start */
    uint64_t odd_us; /* time in us (manager's clock) at which firmware was last compared */
    uint64_t requests, failed;
    struct inventory_firmware firmware[INVENTORY_FIRMWARES];
    uint32_t firmware_count;
};

/* ---- nodes.c --------------------------------------------------------------------------------- */

struct inventory_entry *inventory_entry_of(const struct inventory *inv, uint64_t guid);
/* Loads the inventory from the store. Returns OK, NOMEM, or an error of sql_status
 * (fabricd/store/sql.h). */
int inventory_load(struct inventory *inv);
/* Begins to compare the entries with the view inv->view. */
void inventory_compare_begin(struct inventory *inv);
/* Compares the next nodes of inv->view with the entries. Sets *ret_done to true after the last node
 * of the view. Returns NOMEM. */
int inventory_compare(struct inventory *inv, bool *ret_done);
void inventory_nodes_fini(struct inventory *inv);

/* ---- visit.c --------------------------------------------------------------------------------- */

void inventory_visit_start(struct inventory *inv, struct inventory_entry *e, bool whole);
/* Sends the next request of each visit. Stops when the tokens of this timer tick are used up. */
void inventory_visits_go_on(struct inventory *inv);
void inventory_visits_stop(struct inventory *inv);

/* ---- changes.c ------------------------------------------------------------------------------- */

/* Ends a visit with the result `state`. If it is INVENTORY_READ, stores what the visit has read. */
void inventory_take(struct inventory *inv, struct inventory_visit *v, enum inventory_state state);
/* Finds the devices with odd firmware, and counts the devices by firmware. Emits events about
 * devices that were not odd in the comparison before (ODD_EVENTS in changes.c); the first
 * comparison after the start emits none. */
void inventory_find_odd(struct inventory *inv);

#endif
