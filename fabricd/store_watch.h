/* SPDX-License-Identifier: BSD-3-Clause */
/* Emits events when the database can no longer be written, and when it can be written again. */
#ifndef FABRICD_STORE_WATCH_H
#define FABRICD_STORE_WATCH_H

#include "fabricd/base/bus.h"
#include "fabricd/loop/loop.h"
#include "fabricd/store/store.h"

struct store_watch;
/* Starts to watch the database. `directory`: the name of the state directory, for the events; the
 * text must stay valid until store_watch_stop. Returns OK or NOMEM. */
int store_watch_start(struct loop *loop, struct bus *bus, struct store *store,
                      const char *directory, struct store_watch **ret);
void store_watch_stop(struct store_watch *w); /* `w` may be NULL */

#endif
