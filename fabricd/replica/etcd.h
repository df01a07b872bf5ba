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
    pthread_mutex_t mutex; /* protects `client`, which etcd_interrupt uses on other threads */
    struct fab_client *client;
    bool ended;
    unsigned at;      /* index in config->endpoint of the server that is used */
    int64_t revision; /* revision of etcd in the last answer */
    char why[300];    /* reason why the last call failed */
};
void etcd_init(struct etcd *e, const struct config_replication *config);
void etcd_fini(struct etcd *e);
/* The next two functions may be called by other threads. They end the running call of the thread
 * that uses the connection. etcd_end also makes all its later calls fail. */
void etcd_interrupt(struct etcd *e);
void etcd_end(struct etcd *e);
const char *etcd_endpoint(const struct etcd *e);

/* The calls connect first if there is no connection. They return OK, or IO with the reason in
 * e->why. After a failure, the next call uses the next server. */

/* Reads a key. *ret_value is freed by the caller; NULL: the key does not exist. The answer is one
 * that a majority of the servers confirms. */
int etcd_get(struct etcd *e, const char *key, char **ret_value, int64_t *ret_mod_revision);
/* Passes all keys with this prefix to the function `each`, all in the state of one revision of etcd
 * (*ret_revision). If each() returns an error, the call ends with this error. */
typedef int etcd_each(void *ctx, const char *key, const char *value, int64_t mod_revision);
int etcd_list(struct etcd *e, const char *prefix, etcd_each *each, void *ctx,
              int64_t *ret_revision);

struct etcd_change {
    const char *key, *value; /* the key, and its new value; value NULL: the key is deleted */
};
/* A condition of a transaction: the key was last changed at this revision; revision 0: the key does
 * not exist. */
struct etcd_fence {
    const char *key;
    int64_t revision;
};
#define ETCD_FENCES 2
/* Makes all changes in one transaction, if all conditions (fences, at most ETCD_FENCES) hold.
 * Otherwise *ret_done is false, and nothing changes. After IO, etcd may still carry out the
 * transaction, even after later calls. */
int etcd_commit(struct etcd *e, const struct etcd_fence *fence, size_t fences,
                const struct etcd_change *change, size_t count, bool *ret_done,
                int64_t *ret_revision);

/* Watches the keys with this prefix from `revision` on. Passes each change to the function `each`
 * (value NULL: the key was deleted), and after a group of changes calls batch() with the revision
 * of the last one. Ends with OK when batch() returns false. *ret_compacted is true if etcd has
 * deleted some of the changes; the caller must then read all keys again. */
int etcd_watch(struct etcd *e, const char *prefix, int64_t revision, etcd_each *each,
               bool (*batch)(void *ctx, int64_t revision), void *ctx, bool *ret_compacted);

#endif
