/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells operators, by events and in the status, which TLS files expire soon or have expired.
 */
#ifndef FABRICD_RPC_EXPIRY_H
#define FABRICD_RPC_EXPIRY_H

#include <stddef.h>

#include "fabricd/base/bus.h"
#include "fabricd/base/tls_expiry.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"

struct expiry;
/* Creates the object that watches the expiry of TLS files. The object also writes the times of
 * expiry to *times, for the metrics; *times must exist as long as the object. `times` may be NULL.
 * Returns OK or NOMEM. */
int expiry_new(struct loop *loop, struct bus *bus, struct tls_expiry *times, struct expiry **ret);
void expiry_free(struct expiry *e); /* `e` may be NULL */

/* Makes the object watch `files`, which the server uses from now on, instead of the files of the
 * last call. `times` has the times at which they expire. Emits events at once for files that expire
 * soon or have expired. Does not repeat an event if the file still has the same time of expiry. If
 * this function returns NOMEM, it has changed nothing. */
int expiry_set(struct expiry *e, const struct tls_expiry *times, const struct config_tls *files);
/* Writes to ret[] a sentence about the files that expire soon or have expired; "" if there are
 * none. */
void expiry_alarm(const struct expiry *e, char *ret, size_t len);

#endif
