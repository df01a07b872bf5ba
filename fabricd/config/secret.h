/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys among the settings, and the files that they may stand in. For this folder only. */
#ifndef FABRICD_CONFIG_SECRET_H
#define FABRICD_CONFIG_SECRET_H

#include "fabricd/config/config.h"
#include "fabricd/config/place.h"
#include "fabricd/config/raw.h"

/* Replaces each key that is "file:PATH" or "credential:NAME" by the number in that file. Sets
 * c->key_in_file to the first key that is a secret number of the configuration file itself. Returns
 * NOT_FOUND, DENIED (other users can read the file of a key), IO, FORMAT or NOMEM; the report has
 * the message of all but NOMEM, which never shows the content of a file. */
int secrets_take(struct raw *raw, struct report *report, struct config *c);

#endif
