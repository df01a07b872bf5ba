/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alias GUIDs (IBA 14.2.5.5, 15.2.5.18): additional GUIDs of ports, such as those of virtual
 * functions. A port's GUIDInfo holds them in blocks of 8; index 0 is the port's own GUID. The
 * struct has one owner and no locks.
 */
#ifndef LIBFABMGR_SA_ALIASES_H
#define LIBFABMGR_SA_ALIASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/map.h"

#define FAB_SA_ALIAS_BLOCK 8
#define FAB_SA_ALIAS_INDEXES 256 /* most indexes of a port, because GuidCap has 8 bits */

struct fab_sa_alias_block {
    uint64_t port_guid, guid[FAB_SA_ALIAS_BLOCK]; /* 0: the index has no GUID */
    uint32_t next; /* index in row[] of the port's next block, or UINT32_MAX */
    uint8_t block;
    bool dirty; /* the block must still be written to the port; only the caller uses this member */
};
struct fab_sa_aliases { /* a struct of zeros has no alias GUIDs */
    struct fab_sa_alias_block *row;
    size_t count, room;
    struct fab_map ports; /* port GUID -> its first block in row[] */
    struct fab_map guids; /* alias GUID -> block in row[] */
};
void fab_sa_aliases_fini(struct fab_sa_aliases *a);
/* Sets the GUID at an index of a port; guid 0 removes it. EXISTS: another index has this GUID.
 * RANGE: no such index. NOMEM. */
int fab_sa_aliases_set(struct fab_sa_aliases *a, uint64_t port_guid, uint32_t place, uint64_t guid);
/* Returns a block of a port. NULL: no GUID in the block was ever set. The pointer is valid until
 * the next fab_sa_aliases_set. */
struct fab_sa_alias_block *fab_sa_aliases_block(const struct fab_sa_aliases *a, uint64_t port_guid,
                                                uint32_t block);
/* Returns the number of alias GUIDs of a port. */
uint32_t fab_sa_aliases_of(const struct fab_sa_aliases *a, uint64_t port_guid);
/* Returns the GUID of the port that has this alias GUID, or 0. */
uint64_t fab_sa_aliases_port(const struct fab_sa_aliases *a, uint64_t guid);
/* Generates a locally administered GUID that is no alias of any port and that taken() does not
 * refuse. The same port and index get the same GUID as long as it is free. 0: no free GUID was
 * found. */
uint64_t fab_sa_aliases_generate(const struct fab_sa_aliases *a, uint64_t port_guid, uint32_t place,
                                 bool (*taken)(const void *ctx, uint64_t guid), const void *ctx);

#endif
