/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the nodes and links that are gone, as input of fab_fabric_restore. For this folder only. */
#ifndef FABRICD_RPC_LOST_H
#define FABRICD_RPC_LOST_H

#include "fabricd/store/store.h"
#include "libfabmgr/fabric/restore.h"

/* Reads all nodes and links that are gone. If `store` is NULL, there are none. Returns OK, NOMEM,
 * or an error of sql_status (fabricd/store/sql.h); after an error, *ret is empty. The caller frees
 * *ret with fab_fabric_lost_fini. */
int lost_read(struct store *store, struct fab_lost *ret);

#endif
