/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alias GUIDs (IBA 14.2.5.5, 15.2.5.18) are additional GUIDs of ports, for example for virtual
 * functions. GUIDInfo of a port has its GUIDs in blocks of 8. The GUID at index 0 is the port's own
 * GUID; those at all other indexes are alias GUIDs. One thread owns a struct fab_sa_aliases; there
 * are no locks.
 */
#ifndef LIBFABMGR_SA_ALIASES_H
#define LIBFABMGR_SA_ALIASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/map.h"

#define FAB_SA_ALIAS_BLOCK 8
/* maximum number of GUIDs of a port, because GuidCap has 8 bits */
#define FAB_SA_ALIAS_INDEXES 256

struct fab_sa_alias_block {
    /* guid[i] is the GUID at index 8 * block + i; 0: none */
    uint64_t port_guid, guid[FAB_SA_ALIAS_BLOCK];
    /* index in row[] of the next block of the same port; UINT32_MAX: last block */
    uint32_t next;
    uint8_t block;
    /* true: the block must still be written to GUIDInfo of the port. fab_sa_aliases_set sets this
     * member, and the caller clears it. */
    bool dirty;
};
/* the alias GUIDs of all ports; all bytes zero: none */
struct fab_sa_aliases {
    struct fab_sa_alias_block *row;
    size_t count, room;
    /* port GUID -> index in row[] of the port's first block */
    struct fab_map ports;
    /* alias GUID -> index in row[] of the block that has it */
    struct fab_map guids;
};
void fab_sa_aliases_fini(struct fab_sa_aliases *a);
/* Sets the alias GUID of a port at `index`; if `guid` is 0, removes it. Returns EXISTS if `guid` is
 * already an alias GUID of another port or at another index, RANGE if `index` is 0 or too high, or
 * NOMEM. */
int fab_sa_aliases_set(struct fab_sa_aliases *a, uint64_t port_guid, uint32_t index, uint64_t guid);
/* Returns block number `block` of a port; NULL if no GUID in this block was ever set. The pointer
 * is valid until the next call of fab_sa_aliases_set. */
struct fab_sa_alias_block *fab_sa_aliases_block(const struct fab_sa_aliases *a, uint64_t port_guid,
                                                uint32_t block);
/* Returns the number of alias GUIDs of a port. */
uint32_t fab_sa_aliases_of(const struct fab_sa_aliases *a, uint64_t port_guid);
/* Returns the port GUID of the port that has this alias GUID; 0 if no port has it. */
uint64_t fab_sa_aliases_port(const struct fab_sa_aliases *a, uint64_t guid);
/* Generates a free alias GUID for a port and index: a locally administered GUID that is not an
 * alias GUID of any port, and for which taken() returns false. Calls with the same `port_guid` and
 * `index` return the same GUID, as long as it is free. Returns 0 if no free GUID was found. */
uint64_t fab_sa_aliases_generate(const struct fab_sa_aliases *a, uint64_t port_guid, uint32_t index,
                                 bool (*taken)(const void *ctx, uint64_t guid), const void *ctx);

#endif
