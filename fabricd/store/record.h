/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records in the queue of the writer thread. For the folder fabricd/store only.
 */
#ifndef FABRICD_STORE_RECORD_H
#define FABRICD_STORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "fabricd/base/bus.h"
#include "fabricd/base/reroute.h"
#include "fabricd/store/audit.h"
#include "fabricd/store/drains.h"
#include "fabricd/store/inventory.h"
#include "fabricd/store/policies.h"
#include "fabricd/store/replicated_rows.h"
#include "fabricd/store/snapshots.h"
#include "fabricd/store/store.h"
#include "libfabmgr/address/address.h"
#include "libfabmgr/view/view.h"

enum record_kind {
    RECORD_EVENT,
    RECORD_SET,
    RECORD_DISABLED,
    RECORD_REROUTE,
    RECORD_ISOLATED,
    RECORD_DRAIN,
    RECORD_EXEMPT,
    RECORD_PIN,
    RECORD_BASELINE,
    RECORD_HOSTS,
    RECORD_FORGET,
    RECORD_SNAPSHOT,
    RECORD_INVENTORY,
    RECORD_META,
    RECORD_POLICY,
    RECORD_AUDIT,
    RECORD_REPLICA
};

/* A row of table_set, which is about forwarding tables that the manager published. */
struct record_set {
    uint64_t generation, duration_us, unreachable_pairs;
    int64_t time_us;
    const char *engine, *reason;
    bool deadlock_free;
    uint32_t switches, hosts, links;
};

struct record_port {
    uint64_t node_guid;
    int64_t since;
    uint8_t port;
    bool there;
};

struct record_isolated {
    struct store_isolated link;
    bool isolated;
};

struct record_drain {
    struct store_drain *drain; /* a copy of the drain; the record owns it */
    bool there;
};

struct record_pin {
    struct fab_pin pin;
    bool there;
};

/* A request to forget (gone.h) the node `guid` or, if guid is 0, nodes and links by their age and
 * number. */
struct record_forget {
    /* true: an operator decided to forget, so the other managers of the fabric must forget, too
     * (forgotten.h) */
    bool decided;
    uint64_t guid;
    int64_t before;
    uint32_t nodes;
};

/* A snapshot of the topology to write or to delete (snapshots.h). */
struct record_snapshot {
    /* a reference that the record owns; NULL: delete the snapshot with this name */
    struct fab_fabric *fabric;
    struct store_snapshot_limits limits;
    int64_t time;
    bool automatic;
    const char *name, *by;
};

/* Kinds of registrations of hosts. HOSTS_ASKED is not a registration: it records that the manager
 * has asked all hosts to register again. */
enum hosts_kind {
    HOSTS_SERVICE,
    HOSTS_SUBSCRIPTION,
    HOSTS_GROUP,
    HOSTS_MEMBER,
    HOSTS_ALIAS,
    HOSTS_ASKED
};
struct record_hosts {
    enum hosts_kind kind;
    bool there;
    union {
        struct store_service service;
        struct store_subscription subscription;
        struct fab_wire_mc_member_record group;
        struct store_member member;
        struct store_alias alias;
    };
};

/* A row of the table meta. */
struct record_meta {
    const char *key, *value;
};

struct record {
    STAILQ_ENTRY(record) next;
    enum record_kind kind;
    union {
        struct event event;
        struct record_set set;
        struct record_port port; /* for RECORD_DISABLED and RECORD_EXEMPT */
        struct record_isolated isolated;
        struct record_drain drain;
        struct record_pin pin;
        /* a reference that the record owns; NULL: delete the stored baseline */
        struct fab_baseline *baseline;
        struct reroute reroute;
        struct record_hosts hosts;
        struct record_forget forget;
        struct record_snapshot snapshot;
        struct store_inventory *inventory; /* a copy of the inventory; the record owns it */
        struct record_meta meta;
        struct store_policy policy; /* the texts to which this member points are in texts[] */
        struct audit_row audit;
        struct record_replica replica; /* the record owns its rows */
    };
    /* memory of the texts to which the other members point */
    char texts[];
};
STAILQ_HEAD(record_queue, record);

/*
 * These functions make a record for the queue of the writer. They return NULL if memory runs out.
 */
struct record *record_of_event(const struct event *e);
struct record *record_of_view(const struct fab_view *v, const char *reason, uint64_t duration_us);
struct record *record_of_port(enum record_kind kind, uint64_t node_guid, uint8_t port, bool there);
struct record *record_of_isolated(const struct store_isolated *link, bool isolated);
struct record *record_of_drain(const struct store_drain *drain, bool there);
struct record *record_of_pin(const struct fab_pin *pin, bool there);
struct record *record_of_baseline(struct fab_baseline *baseline);
struct record *record_of_reroute(const struct reroute *reroute);
struct record *record_of_hosts(const struct record_hosts *hosts);
struct record *record_of_forget(const struct record_forget *forget);
struct record *record_of_snapshot(const struct record_snapshot *snapshot);
struct record *record_of_inventory(const struct store_inventory *i);
struct record *record_of_meta(const char *key, const char *value);
struct record *record_of_policy(const struct store_policy *policy);
struct record *record_of_audit(const struct audit_row *row);
/* takes over the rows of the request; if it returns NULL, the caller still owns them */
struct record *record_of_replica(const struct record_replica *request);

/* What one transaction writes. There is at most one set of leases and one view: a new one replaces
 * the one in the batch. */
struct batch {
    /* LID leases; owned by the batch; batch_tidy_leases sorts them by GUID */
    struct fab_lease *leases;
    size_t lease_count;
    bool has_leases;
    /* a reference that the batch owns; NULL: the batch has no view */
    struct fab_view *view;
    struct record_queue records;
    size_t record_count;
    /* true: the batch has a row of the audit log, so the disk must be synced at the commit */
    bool has_audit;
};

void batch_init(struct batch *b);
void batch_clear(struct batch *b);
bool batch_is_empty(const struct batch *b);
/* Sets the leases of the batch, and takes over `leases`. */
void batch_put_leases(struct batch *b, struct fab_lease *leases, size_t count);
void batch_put_record(struct batch *b, struct record *r); /* takes over the record */
/* Moves the contents of `from` to `to`: appends the records, and replaces the leases and the view
 * of `to` if `from` has any. `from` is then empty. */
void batch_move(struct batch *to, struct batch *from);
/* Moves the leases and the view of `from` to `to`, which must be empty. If `from` has no leases and
 * no view, moves its first record. */
void batch_move_part(struct batch *to, struct batch *from);
/* Sorts the leases by GUID. Keeps only the last lease of each GUID, and drops invalid leases. */
void batch_tidy_leases(struct batch *b);

#endif
