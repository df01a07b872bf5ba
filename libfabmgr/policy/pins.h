/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pins of node descriptions. The administrator of a host chooses its node description. So if a
 * policy selects nodes by name, a host could select itself. A pin prevents this: it binds a name
 * that matches a policy to the node GUID that first showed this name. Patterns are compared with
 * the pinned name, even if the node shows another name later. If a node with another GUID shows the
 * pinned name, no pattern matches this node until an operator approves it.
 *
 * The first word of a description is the name of the host ("node-0001 mlx5_0"). A pin also reserves
 * this host name: another GUID that shows "node-0001 mlx5_7" needs an approval, too. But the
 * adapters of one host can all be pinned: those that appear within two minutes of the first one,
 * and those that an operator approves.
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

/* How nodes get pins. */
enum fab_pin_mode {
    /* The first node that shows a name gets a pin, if the name matches a pattern of the policy. If
     * another GUID is already pinned with this host name, the node gets a pin only if two things
     * happened within the last two minutes: the first pin of this host name was made, and the node
     * appeared. So all adapters of a host that starts get pins. */
    FAB_PIN_FIRST_SEEN,
    FAB_PIN_APPROVED, /* A node gets a pin only if an operator approves the node. */
    /* Pins are not used. Patterns are compared with the names that nodes show now. */
    FAB_PIN_OFF,
};
#define FAB_PIN_NAME_LEN 65 /* size in bytes of a NodeDescription with the NUL */
#define FAB_PIN_BY_LEN 64
/* maximum number of pins that the manager makes without an operator */
#define FAB_PINS_MAX 131072

struct fab_pin {
    uint64_t guid;               /* node GUID */
    char name[FAB_PIN_NAME_LEN]; /* NodeDescription; it may contain any bytes */
    /* name of the operator who approved the pin; "": the manager made the pin, because the node was
     * the first to show the name */
    char by[FAB_PIN_BY_LEN];
    /* Unix time in us at which the pin was made */
    int64_t since_us;
    /* Time in us (manager's clock) at which the pin was made. If the manager made the pin because
     * another adapter of the host already had one (FAB_PIN_FIRST_SEEN), the time of that other pin.
     * 0: before the manager started. */
    uint64_t made_us;
};
enum fab_pin_reason {
    /* the name that the node shows now matches patterns that its pinned name does not match */
    FAB_PIN_CHANGED,
    /* another GUID has a pin with the same host name */
    FAB_PIN_HELD,
    /* the node has no pin, and in the mode FAB_PIN_APPROVED only an operator can give it one */
    FAB_PIN_NEW,
    FAB_PIN_FULL, /* there are FAB_PINS_MAX pins already */
};
/* A node whose name waits for the approval of an operator. Before the approval, no pattern matches
 * the node. */
struct fab_pin_waiting {
    uint64_t guid;
    char name[FAB_PIN_NAME_LEN]; /* the name that the node shows */
    uint8_t reason;              /* enum fab_pin_reason */
    /* for FAB_PIN_HELD: the lowest GUID that has a pin with this host name */
    uint64_t holder;
    /* Unix time in us at which the node first showed this name */
    int64_t since_us;
    bool told; /* the manager has emitted an event about this name */
};
struct fab_pins {
    struct fab_pin *pin; /* [count] sorted by GUID */
    size_t count;
    struct fab_pin_waiting *waiting; /* [waiting_count] sorted by GUID */
    size_t waiting_count;
    bool approved_only;     /* the mode is FAB_PIN_APPROVED */
    struct fab_map by_guid; /* GUID -> index in pin[] */
    /* hash of a host name -> lowest index in pin[] of the pins with this host name */
    struct fab_map by_host;
    struct fab_map by_waits; /* GUID -> index in waiting[] */
    int refs;                /* reference count; private, atomic */
};

/* Makes a set with one reference (refs == 1). Copies the pins, which may be in any order; if
 * several pins have the same GUID, copies only the first of them. `waiting` must be sorted by GUID.
 * Returns NOMEM. */
int fab_policy_pins_new(const struct fab_pin *pin, size_t count,
                        const struct fab_pin_waiting *waiting, size_t waiting_count,
                        bool approved_only, struct fab_pins **ret);
struct fab_pins *fab_policy_pins_ref(struct fab_pins *p); /* p may be NULL */
void fab_policy_pins_unref(struct fab_pins *p);
/* Makes a copy of a set in which *pin is the pin of pin->guid; it replaces an earlier pin of this
 * GUID. In the copy, this GUID does not wait for an approval. Returns NOMEM. */
int fab_policy_pins_with(const struct fab_pins *p, const struct fab_pin *pin,
                         struct fab_pins **ret);
/* Makes a copy of a set without the pin of this GUID. Returns NOT_FOUND (the GUID has no pin) or
 * NOMEM. */
int fab_policy_pins_without(const struct fab_pins *p, uint64_t guid, struct fab_pins **ret);
/* fab_policy_pins_find returns the pin of a GUID. fab_policy_pins_waiting returns the entry of a
 * node that waits for an approval. fab_policy_pins_holder returns the pin whose name has the same
 * host name as `desc`; if several pins have it, the one with the lowest GUID. All three return NULL
 * if there is no such pin or entry, or if p is NULL. */
const struct fab_pin *fab_policy_pins_find(const struct fab_pins *p, uint64_t guid);
const struct fab_pin_waiting *fab_policy_pins_waiting(const struct fab_pins *p, uint64_t guid);
const struct fab_pin *fab_policy_pins_holder(const struct fab_pins *p, const char *desc);
/* Returns the name of a host or router that patterns must match: if the node has a pin, the pinned
 * name, otherwise the name that the node shows (`desc`). Returns NULL if the node shows a name that
 * still needs an approval; no pattern may match such a node. If p is NULL, returns `desc`. */
const char *fab_policy_pins_name(const struct fab_pins *p, uint64_t guid, const char *desc);
/* Returns true if two descriptions have the same host name. */
bool fab_policy_pins_same_host(const char *a, const char *b);

#endif
