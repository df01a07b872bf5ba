/* SPDX-License-Identifier: BSD-3-Clause */
/* The versions of the applied policy: table policy_version. The highest version is in force. */
#ifndef FABRICD_STORE_POLICIES_H
#define FABRICD_STORE_POLICIES_H

#include <stddef.h>
#include <stdint.h>

#define STORE_POLICIES_KEPT 100 /* number of versions that the database keeps */

struct store;
struct store_policy {
    uint64_t version;
    int64_t time_us; /* Unix time in microseconds at which the version was applied */
    const char *by, *reason;
    const char *hash; /* SHA-256 of the text, in hexadecimal digits */
    const char *text; /* YAML */
};
/* Puts a version into the queue of the writer thread. The writer commits it at once, in a single
 * transaction. */
void store_put_policy(struct store *s, const struct store_policy *policy);
typedef void store_policy_fn(void *ctx, const struct store_policy *policy);
/* Calls fn for the versions, newest first; the texts are valid during the call. version: calls fn
 * only for this version; 0: for all versions. limit: maximum number of calls. Returns OK or an
 * error of sql_status (sql.h). */
int store_policies(struct store *s, uint64_t version, uint32_t limit, store_policy_fn *fn,
                   void *ctx);
/* store_put_policy_settled stores that the manager has carried out the decisions (isolation,
 * approvals) of this version. store_policy_settled returns the last version for which this was
 * stored; 0: none, or the database cannot be read. */
void store_put_policy_settled(struct store *s, uint64_t version);
uint64_t store_policy_settled(struct store *s);

/* For the folder fabricd/store only. */
struct sql;
int policy_write(struct sql *q, const struct store_policy *policy);

#endif
