/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deletes from the database what the settings no longer keep. The store itself trims the event
 * journal and the audit log when it writes to them; this timer forgets nodes that are gone, because
 * their age grows without a write.
 */
#ifndef FABRICD_UPKEEP_H
#define FABRICD_UPKEEP_H

#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/store/store.h"

struct upkeep;
/* Begins a minute after the start, and repeats each hour. `config` must stay valid, and may change.
 * Returns NOMEM. */
int upkeep_start(struct loop *loop, struct store *store, const struct config *config,
                 struct upkeep **ret);
void upkeep_stop(struct upkeep *u); /* the argument may be NULL */

#endif
