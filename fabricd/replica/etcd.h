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
    pthread_mutex_t mutex; /* protects `client` and `ended`, which other threads use in
                              etcd_interrupt and etcd_end */
    struct fab_client *client;
    bool ended;
    unsigned at;      /* index in config->endpoint of the server that is used */
    int64_t revision; /* revision of etcd in the last answer */
    char why[300];    /* reason why the last call failed */
};
void etcd_init(struct etcd *e, const struct config_replication *config);
void etcd_fini(struct etcd *e);
/* Other threads may call etcd_interrupt and etcd_end. Both functions end the running call of the
 * thread that uses the connection. After etcd_end, all later calls fail, too. */
void etcd_interrupt(struct etcd *e);
void etcd_end(struct etcd *e);
const char *etcd_endpoint(const struct etcd *e);

/* The functions from here on connect first if there is no connection. They return OK, NOMEM, or IO
 * with the reason in e->why. After IO, the next call uses the next server. */

/* Reads a key. *ret_value: the value, which the caller frees; NULL: the key does not exist, its
 * value contains a NUL byte, or memory ran out. *ret_mod_revision: the revision at which the key
 * was last changed; 0: the key does not exist. A majority of the etcd servers confirms the
 * answer. */
int etcd_get(struct etcd *e, const char *key, char **ret_value, int64_t *ret_mod_revision);
/* Passes all keys with this prefix to the function `each`, as they are at one revision of etcd
 * (*ret_revision). If each() returns an error, etcd_list ends and returns this error. */
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
/* If all conditions hold (`fence`, at most ETCD_FENCES), makes all changes in one transaction, and
 * sets *ret_done to true. Otherwise sets it to false, and changes nothing. *ret_revision: revision
 * of etcd after the transaction. If the function returns IO, etcd may still carry out the
 * transaction, even after later calls. */
int etcd_commit(struct etcd *e, const struct etcd_fence *fence, size_t fences,
                const struct etcd_change *change, size_t count, bool *ret_done,
                int64_t *ret_revision);

/* Watches the keys with this prefix from `revision` on. Passes each change to the function `each`
 * (value NULL: the key was deleted), and after a group of changes calls batch() with the revision
 * of the last one. Returns OK when batch() returns false, and IO if each() returns an error. If
 * etcd has deleted some of the changes, returns IO, and sets *ret_compacted to true; the caller
 * must then read all keys again. */
int etcd_watch(struct etcd *e, const char *prefix, int64_t revision, etcd_each *each,
               bool (*batch)(void *ctx, int64_t revision), void *ctx, bool *ret_compacted);

#endif
