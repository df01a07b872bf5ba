/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the objects whose names match a pattern (libfabmgr/base/glob.h). */
#ifndef CLI_CTL_MATCHED_H
#define CLI_CTL_MATCHED_H

#include "cli/ctl/cmd.h"
#include "fabric/v1/port.pb-c.h"

/* greatest number of objects for which a command runs */
#define MATCHED_MAX 4096u

struct matched {
    struct match {
        char *name; /* name of the object, for messages and questions */
        /* the argument that names the object to the command, such as the GUID of a node */
        char *argument;
    } * match; /* [count] */
    size_t count, room;
};
/* Finds the objects that an argument of the command names. `usage` is the word for the argument in
 * the usage of the command, such as "NODE/PORT". Prints an error if no object matches, or if more
 * than MATCHED_MAX objects match. Returns the exit code. */
int match_argument(struct session *s, const char *usage, const char *pattern, struct matched *ret);
/* Returns true if match_argument can expand a pattern in an argument with this usage. */
bool can_match(const struct session *s, const char *usage);
/* Returns true if the name is, or matches, the pattern. */
bool name_matches(const char *pattern, const char *name);
/* Returns true if the pattern matches the port (NODE/PORT), its node, or the first word of the name
 * of its node. Returns false if `port` is NULL. */
bool port_matches(const char *pattern, const Fabric__V1__PortRef *port);
/* Adds an object. argument: the argument that names the object to the command; NULL: its name.
 * Prints an error if there are too many objects. Returns the exit code. */
int matched_add(struct matched *m, const char *name, const char *argument);
void matched_fini(struct matched *m);

#endif
