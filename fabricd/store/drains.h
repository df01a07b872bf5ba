/* SPDX-License-Identifier: BSD-3-Clause */
/* The drains (of links, switches and hosts) that have not ended. They are in the tables drain,
 * drain_node and drain_link. */
#ifndef FABRICD_STORE_DRAINS_H
#define FABRICD_STORE_DRAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct store_drain_link {
    uint64_t guid[2]; /* node GUIDs of the two ends */
    uint8_t port[2];
    char name[2][128];
};
struct store_drain {
    uint32_t id, kind; /* kind: enum sm_drain_kind */
    bool force;
    /* Unix times in microseconds; until_us 0: the drain has no time limit */
    int64_t since_us, until_us;
    char name[160], by[128], reason[256];
    /* [nodes] GUIDs of the drained switches, or of the adapters of the drained host */
    uint64_t *node;
    uint32_t nodes;
    struct store_drain_link *link; /* [links] the links that routes avoid */
    uint32_t links;
};
/* Replaces the stored drain with this id, together with its nodes and links. The arrays are copied.
 * If `there` is false, only deletes the stored drain. */
void store_put_drain(struct store *s, const struct store_drain *d, bool there);
/* Loads all drains, sorted by id. The caller frees them with store_drains_free. Returns OK, NOMEM
 * or the errors of sql_status. Rows that were edited by hand and are not valid are skipped. */
int store_load_drains(struct store *s, struct store_drain **ret, size_t *ret_count);
void store_drains_free(struct store_drain *list, size_t count);

/* For the folder fabricd/store only. */
struct sql;
/* Returns a copy in one block of memory, which the caller frees with free(); NULL: no memory. */
struct store_drain *drain_copy(const struct store_drain *d);
int drain_write(struct sql *q, const struct store_drain *d, bool there);

#endif
