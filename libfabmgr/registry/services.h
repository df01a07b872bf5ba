/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services that hosts registered (ServiceRecord, IBA 15.2.5.14), by their key. A mutable value, for
 * one owner; the clock is the caller's.
 */
#ifndef LIBFABMGR_REGISTRY_SERVICES_H
#define LIBFABMGR_REGISTRY_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/wire/sa.h"

#define FAB_SERVICE_BYTES 176
#define FAB_SERVICES_MOST 131072 /* and not more than this many of one port: */
#define FAB_SERVICES_EACH 64

struct fab_service_key {
    uint64_t id, gid[2];
    uint16_t pkey;
};
struct fab_service {
    struct fab_service_key key;
    uint64_t owner;  /* GUID of the port that registered it */
    int64_t ends_us; /* of any clock that the caller has; 0: never */
    uint8_t wire[FAB_SERVICE_BYTES];
};
struct fab_services {
    struct fab_service **row; /* by key */
    size_t count, room;
    struct fab_map owners; /* how many each has */
    int64_t ends_us;       /* of the one that ends first, or earlier; 0: none does */
};
/* All zeros is empty. */
void fab_registry_services_fini(struct fab_services *s);
const struct fab_service *
fab_registry_services_find(const struct fab_services *s,
                           const struct fab_service_key *key); /* or NULL */
/* The next in the order of keys; after NULL the first. NULL: there is no more. */
const struct fab_service *fab_registry_services_next(const struct fab_services *s,
                                                     const struct fab_service_key *key);
/* Registers it, or takes the place of the one with its key. wire says what key says. LIMIT: too
 * many, of this port or together. NOMEM. */
int fab_registry_services_put(struct fab_services *s, const struct fab_service *service);
bool fab_registry_services_remove(struct fab_services *s, const struct fab_service_key *key);
/* Removes those that have ended, after `gone` (or NULL) was told of each. */
void fab_registry_services_expire(struct fab_services *s, int64_t now_us,
                                  void (*gone)(void *ctx, const struct fab_service *service),
                                  void *ctx);

#endif
