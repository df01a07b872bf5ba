/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking calls to etcd. Each thread has its own connection. For the folder fabricd/replica
 * only. */
#ifndef FABRICD_REPLICA_ETCD_H
#define FABRICD_REPLICA_ETCD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcd/etcd.pb-c.h"
#include "fabricd/config/config.h"
#include "libfabmgr/client/client.h"

/* maximum number of operations of one transaction; etcd's own default limit is 128 */
#define ETCD_OPERATIONS 120

/* A connection to one of the etcd servers. Only one thread uses it; other threads may call only
 * etcd_interrupt and etcd_end. */
struct etcd {
    const struct config_replication *config;
    pthread_mutex_t mutex; /* protects `client` while etcd_interrupt uses it */
    struct fab_client *client;
    bool ended;
    unsigned at;      /* index of the server in config->endpoint */
    int64_t revision; /* revision of etcd in its last answer */
    char why[300];    /* why the last call failed */
};
void etcd_init(struct etcd *e, const struct config_replication *config);
void etcd_fini(struct etcd *e);
/* The next two functions may be called by other threads than that of the connection. They end its
 * running call. After etcd_end, its later calls fail, too. */
void etcd_interrupt(struct etcd *e);
void etcd_end(struct etcd *e);
const char *etcd_endpoint(const struct etcd *e);

/* All calls connect first if there is no connection. After a failure, the next call uses the next
 * server. They return OK, or IO with the reason in e->why. */

/* Reads one key; *ret_value (malloc'd) is NULL if the key does not exist. A majority confirms the
 * answer. */
int etcd_get(struct etcd *e, const char *key, char **ret_value, int64_t *ret_mod_revision);
/* Passes all keys with this prefix to `each`, in their state at one revision of etcd, which
 * *ret_revision gets. If `each` returns an error, the call ends with this error. */
typedef int etcd_each(void *ctx, const char *key, const char *value, int64_t mod_revision);
int etcd_list(struct etcd *e, const char *prefix, etcd_each *each, void *ctx,
              int64_t *ret_revision);

struct etcd_change {
    const char *key, *value; /* value NULL: delete the key */
};
/* A condition of a transaction: the last change of the key has this revision; revision 0: the key
 * does not exist. */
struct etcd_fence {
    const char *key;
    int64_t revision;
};
#define ETCD_FENCES 2
/* Makes all changes in one transaction, if all fences (at most ETCD_FENCES) hold. Otherwise
 * *ret_done is false, and nothing changes. If the function returns IO, etcd may still carry out the
 * transaction, even after later calls. */
int etcd_commit(struct etcd *e, const struct etcd_fence *fence, size_t fences,
                const struct etcd_change *change, size_t count, bool *ret_done,
                int64_t *ret_revision);

/* Watches the keys with this prefix. Passes each change from `revision` on to `each`, with value
 * NULL if the key was deleted, and then calls `batch` with the revision of the last change. Ends
 * with OK if `batch` returns false. *ret_compacted is true if etcd has deleted some of these
 * changes; the caller must then read all keys again. */
int etcd_watch(struct etcd *e, const char *prefix, int64_t revision, etcd_each *each,
               bool (*batch)(void *ctx, int64_t revision), void *ctx, bool *ret_compacted);

#endif
