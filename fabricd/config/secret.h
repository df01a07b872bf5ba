/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings whose values are secret keys: a value may name a file that contains the key. For this
 * folder only. */
#ifndef FABRICD_CONFIG_SECRET_H
#define FABRICD_CONFIG_SECRET_H

#include "fabricd/config/config.h"
#include "fabricd/config/place.h"
#include "fabricd/config/raw.h"

/* Replaces each value "file:PATH" or "credential:NAME" of a key setting by the number in that file.
 * Sets c->key_in_file to the first setting whose secret key is in the configuration file itself.
 * Returns NOT_FOUND, DENIED (other users can read the file of a key), IO, FORMAT or NOMEM. For all
 * errors except NOMEM, the report has a message, which never shows the content of a file. */
int secrets_take(struct raw *raw, struct report *report, struct config *c);
/* Reads the file that the value of a setting names. *ret_text is the first word in the file; the
 * caller frees it. `expected`: what the file should contain, for messages. Returns the errors of
 * secrets_take. */
int secret_read(const char *key, const char *value, const char *expected, char **ret_text,
                struct report *report);
/* Returns true if the value of a key setting has the form "file:PATH" or "credential:NAME". */
bool secret_is_elsewhere(const char *value);

#endif
