/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alias GUIDs (IBA 14.2.5.5, 15.2.5.18): what ports are called besides their own GUID, as virtual
 * functions are. They stand in a port's GUIDInfo, in blocks of 8; place 0 is the port's own. A
 * mutable value, for one owner.
 */
#ifndef LIBFABMGR_SA_ALIASES_H
#define LIBFABMGR_SA_ALIASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/map.h"

#define FAB_SA_ALIAS_BLOCK 8
#define FAB_SA_ALIAS_INDEXES 256 /* of a port: GuidCap has 8 bits */

struct fab_sa_alias_block {
    uint64_t port_guid, guid[FAB_SA_ALIAS_BLOCK]; /* 0: none there */
    uint32_t next;                                /* of the same port */
    uint8_t block;
    bool dirty; /* the caller's: its port does not hold it yet */
};
struct fab_sa_aliases { /* all zeros is empty */
    struct fab_sa_alias_block *row;
    size_t count, room;
    struct fab_map ports; /* port GUID -> its first row */
    struct fab_map guids; /* alias GUID -> row */
};
void fab_sa_aliases_fini(struct fab_sa_aliases *a);
/* What is at that place from now on; guid 0: nothing. EXISTS: it is at another place. RANGE: no
 * such place. NOMEM. */
int fab_sa_aliases_set(struct fab_sa_aliases *a, uint64_t port_guid, uint32_t place, uint64_t guid);
/* NULL: none of it was ever put. Valid until the next put. */
struct fab_sa_alias_block *fab_sa_aliases_block(const struct fab_sa_aliases *a, uint64_t port_guid,
                                                uint32_t block);
/* The GUID of the port that is called so, or 0. */
uint64_t fab_sa_aliases_port(const struct fab_sa_aliases *a, uint64_t guid);
/* A GUID that nobody has of these, which `taken` says of others: locally administered, and the same
 * for the same place as long as it is free. 0: none found. */
uint64_t fab_sa_aliases_generate(const struct fab_sa_aliases *a, uint64_t port_guid, uint32_t place,
                                 bool (*taken)(const void *ctx, uint64_t guid), const void *ctx);

#endif
