/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The upkeep works on the database once an hour. It forgets nodes and links that have been gone for
 * longer than the settings permit. Once a day, it also makes a snapshot of the topology if the
 * topology has changed and the settings keep automatic snapshots. (The store itself trims the event
 * journal and the audit log when it writes to them.)
 */
#ifndef FABRICD_UPKEEP_H
#define FABRICD_UPKEEP_H

#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/store.h"

struct upkeep;
/* Starts the upkeep: it runs a minute after the start, and then each hour. `config` must stay
 * valid; its values may change. Returns NOMEM. */
int upkeep_start(struct loop *loop, struct store *store, const struct sm *sm,
                 const struct config *config, struct upkeep **ret);
void upkeep_stop(struct upkeep *u); /* `u` may be NULL */

#endif
