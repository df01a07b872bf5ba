/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the services share. For this folder only. */
#ifndef FABRICD_RPC_SERVER_H
#define FABRICD_RPC_SERVER_H

#include <sys/queue.h>

#include "fabricd/rpc/access.h"
#include "fabricd/rpc/call.h"
#include "fabricd/rpc/hosts.h"
#include "fabricd/rpc/listen.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/rpc.h"
#include "libfabmgr/view/filter.h"

struct audit;
struct majority;
struct backup;
struct expiry;
struct journal;
struct follower;
struct health_watch;
struct studies;

struct rpc {
    struct rpc_input in;
    struct journal *journal;
    /* Name of the journal: the number of the database and the port GUID of the manager. The number
     * alone is not enough, because a copy of a database has the same number. "": there is no
     * database. */
    char journal_name[40];
    struct audit *audit;
    struct majority *majority;
    struct host_cache hosts;
    /* the calls of WatchEvents that are in progress */
    LIST_HEAD(, follower) followers;
    LIST_HEAD(, health_watch) health_watches; /* calls of Health.Watch in progress */
    struct studies *studies;                  /* long computations for calls (study.h) */
    /* the backup that is being made or sent; NULL: none */
    struct backup *backup;
    /* timer that wakes the followers and the calls of Health.Watch after new events */
    struct loop_timer *turn;
    struct conn_set *conns;
    struct access_table access;
    struct refusals refusals;
    struct listener **listeners; /* [listener_count] listening sockets */
    size_t listener_count;
    struct expiry *expiry;
    SSL_CTX *ssl_ctx;                                /* NULL: no "tls:" address is configured */
    const struct service *services[ACCESS_SERVICES]; /* table of services, NULL-terminated */
};
static inline struct rpc *call_rpc(const struct call *c)
{
    return call_context(c);
}

extern const struct service service_fabric, service_sim, service_health, service_reflection,
    service_reflection_alpha;

/* Returns the view that is shown to operators (sm_view_to_show). It is valid until the method
 * returns or calls a function that can begin a round. A method that needs the view longer takes a
 * reference. Returns NULL if there is no view yet; the call is then finished with an error. */
struct fab_view *need_view(struct call *c);
/* Like need_view, but also returns NULL, and finishes the call with an error, if the view has no
 * tables. */
struct fab_view *need_target(struct call *c);
/* Returns the store. If the manager has no store, finishes the call with an error and returns
 * NULL. */
struct store *need_store(struct call *c);
/* the reason why a request is refused: a gRPC status, and a sentence for the client */
struct refusal {
    enum fab_grpc_code code;
    char why[600];
};
/* The next functions find the node or port that a client named, on any thread. They return
 * NOT_FOUND, EXISTS (the name is ambiguous) or INVAL, and then set *ret_refusal. */
int look_up_node(const struct fab_view *v, const char *what, uint32_t *ret_node,
                 struct refusal *ret_refusal);
int look_up_port(const struct fab_view *v, const char *node, uint32_t number, uint32_t *ret_port,
                 struct refusal *ret_refusal);
/* `hosts`: the hosts of the view; NULL: `what` cannot name a rack. See fab_view_filter_read. */
int look_up_filter(const struct fab_view *v, const struct fab_hosts *hosts, const char *what,
                   struct fab_view_filter *ret, struct refusal *ret_refusal);
/* These functions find the node, endport or port that the client named. Call them on the loop
 * thread only. They return NOT_FOUND, EXISTS (the name is ambiguous) or INVAL; the call is then
 * finished with an error. */
int find_node(struct call *c, const struct fab_view *v, const char *what, uint32_t *ret_node);
int find_end(struct call *c, const struct fab_view *v, const char *what, uint32_t *ret_port);
int find_port(struct call *c, const struct fab_view *v, const char *node, uint32_t number,
              uint32_t *ret_port);
/* Like find_node, but for a list: `what` selects nodes and ports (libfabmgr/view/filter.h). */
int find_filter(struct call *c, const struct fab_view *v, const char *what,
                struct fab_view_filter *ret);
/* Defined in service_whatif.c. Returns true if the text has the form NODE/PORT and NODE names a
 * node. In this case, node[] gets the name, and *ret_number the port number. */
bool is_port_name(const struct fab_view *v, const char *text, char node[FAB_NODE_DESC_LEN + 1],
                  uint32_t *ret_number);
/* The requested page of a list. */
struct page {
    /* true: the client gave a page token, so the page is not the first one */
    bool given;
    /* key of the last element of the previous page; only if `given` is true */
    struct page_key key;
    uint32_t want; /* maximum number of rows of the page */
};
/* Reads the page token and the page size of a request. Returns false if the token is not a token of
 * this list; the call is then finished with an error. */
bool read_page(struct call *c, char list, const char *token, uint32_t size, struct page *ret);
void refuse_token(struct call *c, const char *token);

struct answer;
/* Defined in service_policy.c. Sets *ret_version to the version of the applied policy that is in
 * force, and *ret_sections to the names of its sections. Returns the number of sections. */
size_t list_policy_sections(struct answer *a, const struct policy *p, uint64_t *ret_version,
                            char ***ret_sections);
/* Defined in service_backup.c. Frees the backup, after all calls have ended. */
void backup_end(struct rpc *r);

/* The methods of FabricService. A comment names the file that defines them. */
typedef void call_handler(struct call *c, const void *request);
call_handler who_am_i;                                           /* in service_access.c */
call_handler get_status, get_version, sweep, reroute, rebalance; /* in service_status.c */
call_handler get_managers, hand_over, set_manager_priority;      /* in service_ha.c */
call_handler get_manager_mode, freeze_manager, resume_manager;   /* in service_manager.c */
call_handler list_nodes, get_node;                               /* in service_node.c */
call_handler list_hosts, get_host, list_racks;                   /* in service_host.c */
call_handler list_node_inventory, list_cable_inventory;          /* in service_inventory.c */
call_handler list_gone_nodes, list_gone_links, forget_nodes;     /* in service_gone.c */
call_handler list_snapshots, compare_topologies, make_snapshot,
    delete_snapshot;                                                 /* in service_topology.c */
call_handler list_node_pins, approve_node, forget_node_pin;          /* in service_pins.c */
call_handler list_baseline, approve_baseline, disapprove_baseline;   /* in service_baseline.c */
call_handler list_ports, get_port, disable_port, enable_port;        /* in service_port.c */
call_handler get_key, rotate_key;                                    /* in service_key.c */
call_handler list_links, list_flapping_links, release_link;          /* in service_link.c */
call_handler list_drains, get_drain_preview, start_drain, end_drain; /* in service_drain.c */
call_handler plan_policy, apply_policy, get_policy, list_policies,
    compare_policies;                                                /* in service_policy.c */
call_handler get_drain_plan;                                         /* in service_drain_plan.c */
call_handler list_unhealthy_links, list_port_counters, isolate_link; /* in service_unhealthy.c */
call_handler trace_path, get_forwarding_table, get_verdict;          /* in service_route.c */
call_handler get_routing_choice;                                     /* in service_choice.c */
call_handler get_quality;                                            /* in service_quality.c */
call_handler compare_engines;                                        /* in service_compare.c */
call_handler get_affected_jobs;                                      /* in service_job.c */
call_handler what_if;                                                /* in service_whatif.c */
call_handler list_contingencies, get_contingency;                    /* in service_contingency.c */
call_handler export_file;                                            /* in service_export.c */
call_handler list_classes, list_class_rules;                         /* in service_class.c */
call_handler list_multicast_groups, list_multicast_members;          /* in service_multicast.c */
call_handler list_partitions, list_partition_members;                /* in service_partition.c */
call_handler list_host_services, list_subscriptions;                 /* in service_registry.c */
call_handler get_congestion, get_port_congestion, get_roce;          /* in service_congestion.c */
call_handler list_congested_ports, list_congestion_logs;             /* in service_congested.c */
call_handler list_top_ports, get_port_history;                       /* in service_counters.c */
call_handler list_reroutes, get_reroute;                             /* in service_reroute.c */
call_handler list_audit, verify_audit;                               /* in service_audit.c */
call_handler make_backup;                                            /* in service_backup.c */
call_handler get_diagnostics;                                        /* in service_diagnostics.c */
call_handler list_events;                                            /* in service_event_list.c */
call_handler watch_events;                                           /* in service_event.c */

/* All ports with an id of at least `first` and less than `end` that the filter selects. */
struct port_range {
    uint32_t first, end;
    struct fab_view_filter filter;
};
/* Sets *ret to the ports of a list that come after the page token. `node` selects the ports of the
 * list, and `kind` identifies the list, as the argument `list` of page_parse. Returns FORMAT (wrong
 * token), INVAL, NOT_FOUND or EXISTS; the call is then finished with an error. */
int read_port_range(struct call *c, const struct fab_view *v, char kind, const char *page_token,
                    const char *node, struct port_range *ret);

#endif
