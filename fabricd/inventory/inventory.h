/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inventory: what the devices of the fabric and their modules say about themselves in vendor
 * attributes (libfabmgr/wire/vendor.h). The manager visits every device of a vendor with these
 * attributes once in each interval, and reads its temperatures more often. It sends few requests at
 * a time, and begins visits only while the subnet manager is idle. It sends none if the setting
 * inventory.read is false. All functions must be called on the loop thread.
 */
#ifndef FABRICD_INVENTORY_INVENTORY_H
#define FABRICD_INVENTORY_INVENTORY_H

#include "fabricd/base/bus.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/inventory.h"

struct transport;
struct inventory;
struct inventory_input {
    struct loop *loop;
    struct transport *transport;
    struct sm *sm;
    struct bus *bus;
    struct store *store;         /* NULL: a restart loses the inventory */
    const struct config *config; /* must outlive the inventory */
};
/* Loads the inventory from the store, and starts the visits. Returns NOMEM, LIMIT if there are too
 * many agents, or an error of sql_status (fabricd/store/sql.h) if the store could not be read. */
int inventory_new(const struct inventory_input *in, struct inventory **ret);
void inventory_free(struct inventory *inv); /* inv may be NULL */
/* Call this function after the configuration has changed. If inventory.read is now false, ends all
 * visits. */
void inventory_reload(struct inventory *inv);

enum inventory_state {
    INVENTORY_UNREAD, /* the device was not read yet, for example because inventory.read is false */
    /* the last visit read the device; it may have taken place before the manager restarted */
    INVENTORY_READ,
    INVENTORY_UNSUPPORTED, /* the device does not support the attributes */
    INVENTORY_NO_ANSWER,   /* the device did not answer in the last visit */
};
/* Returns "unread", "read", "unsupported" or "no-answer". */
const char *inventory_state_name(enum inventory_state state);

struct inventory_module {
    struct store_module known;
    int16_t now; /* temperature in 0.125 degrees Celsius, or FAB_NO_TEMPERATURE */
    bool hot;    /* true: the temperature of the module has reached its limit */
};
struct inventory_node {
    uint64_t guid;
    char name[FAB_NODE_DESC_LEN + 1];
    uint8_t type; /* enum fab_node_type */
    uint32_t vendor_id;
    uint8_t state;   /* enum inventory_state */
    bool current;    /* false: the node is gone */
    int64_t read_us; /* Unix time in us at which the node was last read completely; 0: never */
    struct fab_inventory_device device;
    /* time in s since the last restart of the device, at the time read_us; 0: not known */
    uint32_t uptime_s;
    struct fab_temperature temperature; /* temperature of the ASIC */
    bool hot;
    uint16_t fans;                        /* bitset of the fans whose speeds the device reports */
    uint16_t fan_rpm[FAB_INVENTORY_FANS]; /* rotations per minute; 0: stopped, or no such fan */
    /* [module_count] the modules, in ascending order of their ports */
    struct inventory_module *modules;
    size_t module_count;
    /* usual: the firmware version of more than half of the devices of this model; "": no version
     * has a majority, or the fabric has fewer than three devices of the model. odd: the version of
     * this device is known and differs from `usual`. */
    char usual[FAB_INVENTORY_FIRMWARE];
    bool odd;
};
/* In inventory_find and inventory_each_gone, inv may be NULL. */
/* Returns what is known of a node; NULL: nothing. The pointer is valid until the next iteration of
 * the event loop. */
const struct inventory_node *inventory_find(const struct inventory *inv, uint64_t guid);
/* Returns the module at a port of the node; NULL: none is known. */
const struct inventory_module *inventory_find_module(const struct inventory_node *n, uint8_t port);
/* Calls fn for all nodes that are gone and were read before, in no particular order. */
void inventory_each_gone(const struct inventory *inv,
                         void (*fn)(void *ctx, const struct inventory_node *n), void *ctx);

struct inventory_status {
    /* numbers since the start: requests that were sent, and requests that failed */
    uint64_t requests, failed;
    /* [enum inventory_state] number of nodes of the fabric in this state. odd: number of nodes with
     * odd firmware */
    uint32_t state[4], odd;
    uint32_t hot;     /* number of devices and modules whose temperature has reached its limit */
    uint32_t modules; /* number of modules known in the fabric */
};
void inventory_get_status(const struct inventory *inv, struct inventory_status *ret);

#define INVENTORY_FIRMWARES 64u /* maximum number of rows of inventory_firmwares */
/* A row of inventory_firmwares: the number of devices of the fabric that had this model and this
 * firmware when firmware was last compared. */
struct inventory_firmware {
    uint16_t device_id;
    char psid[17], version[FAB_INVENTORY_FIRMWARE];
    uint32_t nodes;
};
/* Returns the rows of the last comparison of firmware, one for each pair of model and firmware
 * version. *ret_count: number of rows. Pairs beyond INVENTORY_FIRMWARES have no row. */
const struct inventory_firmware *inventory_firmwares(const struct inventory *inv,
                                                     uint32_t *ret_count);

#endif
