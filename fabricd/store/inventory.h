/* SPDX-License-Identifier: BSD-3-Clause */
/* The last inventory of each node: what the device and its modules said about themselves when the
 * manager last read them. The inventory stays in the database when the node leaves the fabric,
 * until the node is forgotten (gone.h). */
#ifndef FABRICD_STORE_INVENTORY_H
#define FABRICD_STORE_INVENTORY_H

#include <stddef.h>
#include <stdint.h>

#include "fabricd/store/store.h"
#include "libfabmgr/inventory/device.h"
#include "libfabmgr/inventory/module.h"

/* The module at a port. Its temperature is not stored. */
struct store_module {
    uint8_t port;  /* number of the port */
    uint8_t index; /* index of the module in the device */
    struct fab_module module;
};
struct store_inventory {
    uint64_t guid;   /* GUID of the node */
    int64_t read_us; /* Unix time in microseconds at which the manager read the inventory */
    uint8_t type;    /* enum fab_node_type */
    uint32_t vendor_id;
    char name[FAB_NODE_DESC_LEN + 1];
    struct fab_inventory_device device;
    struct store_module *modules; /* [count] the modules, sorted by port */
    size_t count;
};
/* Replaces the inventory of a node. Copies *i. */
void store_put_inventory(struct store *s, const struct store_inventory *i);
/* Loads the inventory of all nodes, sorted by GUID; *ret is an array from malloc, or NULL. Returns
 * OK, NOMEM, or an error of sql_status (sql.h). */
int store_load_inventory(struct store *s, struct store_inventory **ret, size_t *ret_count);
void store_inventory_free(struct store_inventory *all, size_t count);

/* For the folder fabricd/store only. */
struct sql;
struct store_inventory *inventory_copy(const struct store_inventory *i);
int inventory_write(struct sql *q, const struct store_inventory *i);

#endif
