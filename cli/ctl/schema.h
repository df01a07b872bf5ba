/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON Schema (2020-12) of the JSON output of commands.
 *
 * A command describes its output in a short notation, the member `json` of struct cmd:
 *
 *     name:text rate_mbps:u32|null    a key and its type; several types: one of them
 *     rail?:u32                       the key may be missing
 *     took&:amount at&:time           all keys with this mark are there, or none of them
 *     links:[ a:text b:text ]         an array of objects
 *     errors:{ *:u64 }                an object with any keys
 *     state:'held down'|'watched'     one of these words
 *     @Status(state generation)       fields of a message of the API, with the types of the API
 *     =port(peer_)                    a part (schema_parts.c); its keys get this prefix
 *     =quality?(after_)               all keys of the part are there, or none of them
 *     a:text / b:text                 one of these objects
 *
 * The types, the lists of words and the parts are in schema_parts.c. A mistake in a notation is an
 * error in fabricctl, so an assertion fails.
 */
#ifndef CLI_CTL_SCHEMA_H
#define CLI_CTL_SCHEMA_H

#include <stdio.h>

#include "cli/ctl/cmd.h"

/* Writes the schema of the output of one command. c->json must not be NULL. Returns NOMEM. */
int schema_write_command(FILE *to, const struct cmd *c);
/* Writes one schema that describes the outputs of all commands, and error messages, in $defs.
 * Returns NOMEM. */
int schema_write_all(FILE *to);

/* A name and its meaning; a name that is NULL ends a table. */
struct schema_name {
    const char *name, *text;
};
extern const struct schema_name schema_types[]; /* simple types, as JSON Schema */
extern const struct schema_name schema_words[]; /* lists of words, separated by "|" */
extern const struct schema_name schema_parts[]; /* parts, in the notation */

#endif
