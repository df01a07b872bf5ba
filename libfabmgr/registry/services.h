/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the services that hosts registered (ServiceRecord, IBA 15.2.5.14), sorted by their key. A
 * struct fab_services belongs to one thread and has no locks. */
#ifndef LIBFABMGR_REGISTRY_SERVICES_H
#define LIBFABMGR_REGISTRY_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/wire/sa.h"

#define FAB_SERVICE_BYTES 176
#define FAB_SERVICES_MOST 131072 /* maximum number of services in total */

struct fab_service_key {
    uint64_t id, gid[2];
    uint16_t pkey;
};
struct fab_service {
    struct fab_service_key key;
    /* GUID of the port that registered the service */
    uint64_t owner;
    /* time in us at which the service expires, by the caller's clock; 0: it never expires */
    int64_t ends_us;
    uint8_t wire[FAB_SERVICE_BYTES];
};
struct fab_services {
    struct fab_service **row; /* sorted by key */
    size_t count, room;
    /* GUID of an owner -> number of its services */
    struct fab_map owners;
    /* time in us at which the first of the services may expire; 0: no service expires */
    int64_t ends_us;
};
/* Frees all services. A struct whose bytes are all zero is empty, and need not be freed. */
void fab_registry_services_fini(struct fab_services *s);
const struct fab_service *
fab_registry_services_find(const struct fab_services *s,
                           const struct fab_service_key *key); /* returns NULL if none */
/* Returns the first service whose key is higher than `key`; with key == NULL, the first of all.
 * Returns NULL if there is none. */
const struct fab_service *fab_registry_services_next(const struct fab_services *s,
                                                     const struct fab_service_key *key);
/* Adds a service, or replaces the service with the same key. service->wire must agree with
 * service->key. Returns OK, LIMIT (too many services) or NOMEM. */
int fab_registry_services_put(struct fab_services *s, const struct fab_service *service);
/* Returns the number of services that the port with this GUID registered. */
uint32_t fab_registry_services_of(const struct fab_services *s, uint64_t owner);
bool fab_registry_services_remove(struct fab_services *s, const struct fab_service_key *key);
/* Removes the expired services. Calls gone() for each of them before it is removed; `gone` may be
 * NULL. */
void fab_registry_services_expire(struct fab_services *s, int64_t now_us,
                                  void (*gone)(void *ctx, const struct fab_service *service),
                                  void *ctx);

#endif
