/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pins of node descriptions. The administrator of a host chooses its node description, so a policy
 * that selects nodes by name would let a host select itself. A pin therefore binds the name that
 * first matched a policy to the node GUID that showed it: patterns are compared with the pinned
 * name, whatever the node calls itself later, and no other GUID can show that name.
 *
 * The first word of a description is the name of the host ("node-0001 mlx5_0"). A pin holds this
 * host name too: another GUID cannot show "node-0001 mlx5_7" either. Several GUIDs can hold one
 * host name, as the adapters of one host do.
 *
 * A set of pins does not change; the functions below make changed copies. libfabmgr/target/pins.h
 * makes the pins of a fabric.
 */
#ifndef LIBFABMGR_POLICY_PINS_H
#define LIBFABMGR_POLICY_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/map.h"

/* Which nodes get pins without an operator. */
enum fab_pin_mode {
    FAB_PIN_FIRST_SEEN, /* the first node that shows a name that nobody holds */
    FAB_PIN_APPROVED,   /* none: an operator approves every node */
    FAB_PIN_OFF,        /* patterns are compared with the names that nodes show */
};
#define FAB_PIN_NAME_LEN 65 /* bytes of a NodeDescription, with the NUL */
#define FAB_PIN_BY_LEN 64
#define FAB_PINS_MAX 131072 /* most pins that are made without an operator */

struct fab_pin {
    uint64_t guid;               /* node GUID */
    char name[FAB_PIN_NAME_LEN]; /* NodeDescription; it may contain any bytes */
    char by[FAB_PIN_BY_LEN];     /* the operator who approved it; "": it was the first to show it */
    int64_t since_us;            /* Unix time */
    uint64_t made_us;            /* time of the manager's clock; 0: before the manager started */
};
enum fab_pin_reason {
    FAB_PIN_CHANGED, /* its new name matches patterns that its pinned name does not match */
    FAB_PIN_HELD,    /* another GUID holds its host name */
    FAB_PIN_NEW,     /* it has no pin, and the policy wants an approval for each */
    FAB_PIN_FULL,    /* there are FAB_PINS_MAX pins */
};
/* A node that gets nothing by the name that it shows, until an operator approves it. */
struct fab_pin_waiting {
    uint64_t guid;
    char name[FAB_PIN_NAME_LEN]; /* the name that it shows */
    uint8_t reason;              /* enum fab_pin_reason */
    uint64_t holder;             /* HELD: the lowest GUID that holds the host name */
    int64_t since_us;            /* Unix time at which it first showed this name */
    bool told;                   /* an event was emitted about this name */
};
struct fab_pins {
    struct fab_pin *pin; /* [count] sorted by GUID */
    size_t count;
    struct fab_pin_waiting *waiting; /* [waiting_count] sorted by GUID */
    size_t waiting_count;
    bool approved_only;      /* the mode is FAB_PIN_APPROVED */
    struct fab_map by_guid;  /* GUID to index of pin[] */
    struct fab_map by_host;  /* hash of a host name to the lowest index of pin[] that holds it */
    struct fab_map by_waits; /* GUID to index of waiting[] */
    int refs;                /* private, atomic */
};

/* Makes a set (refs == 1) of copies of the pins, in any order; of pins with the same GUID the first
 * one counts. `waiting` must be sorted by GUID. Returns NOMEM. */
int fab_policy_pins_new(const struct fab_pin *pin, size_t count,
                        const struct fab_pin_waiting *waiting, size_t waiting_count,
                        bool approved_only, struct fab_pins **ret);
struct fab_pins *fab_policy_pins_ref(struct fab_pins *p); /* NULL is fine */
void fab_policy_pins_unref(struct fab_pins *p);
/* Makes a set in which pin->guid has this pin, and does not wait. Returns NOMEM. */
int fab_policy_pins_with(const struct fab_pins *p, const struct fab_pin *pin,
                         struct fab_pins **ret);
/* Makes a set without the pin of this GUID. Returns NOT_FOUND or NOMEM. */
int fab_policy_pins_without(const struct fab_pins *p, uint64_t guid, struct fab_pins **ret);
/* The pin of a GUID, the node that waits, and the pin with the lowest GUID that holds the host name
 * of a description. NULL: there is none, or p is NULL. */
const struct fab_pin *fab_policy_pins_find(const struct fab_pins *p, uint64_t guid);
const struct fab_pin_waiting *fab_policy_pins_waiting(const struct fab_pins *p, uint64_t guid);
const struct fab_pin *fab_policy_pins_holder(const struct fab_pins *p, const char *desc);
/* Returns the name of a host or router with which patterns are compared: the pinned name, or the
 * name that it shows if it may be pinned to it. NULL: no pattern matches the node. p NULL: the name
 * that it shows. */
const char *fab_policy_pins_name(const struct fab_pins *p, uint64_t guid, const char *desc);
/* Returns whether two descriptions have the same host name. */
bool fab_policy_pins_same_host(const char *a, const char *b);

#endif
