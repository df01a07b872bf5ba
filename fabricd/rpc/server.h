/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of the RPC room: what the services share. */
#ifndef FABRICD_RPC_SERVER_H
#define FABRICD_RPC_SERVER_H

#include <sys/queue.h>

#include "fabricd/rpc/call.h"
#include "fabricd/rpc/listen.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/rpc.h"

struct journal;
struct follower;
struct study;
struct worker;

struct rpc {
    struct rpc_input in;
    struct journal *journal;
    LIST_HEAD(, follower) followers; /* of events */
    LIST_HEAD(, study) studies;      /* under way */
    struct worker *student;          /* does them; made for the first one */
    struct loop_timer *turn;         /* due when they may have something to read */
    struct conn_set *conns;
    struct listener **listeners; /* [listener_count] */
    size_t listener_count;
    SSL_CTX *ssl_ctx;                  /* NULL: no tls: address */
    const struct service *services[8]; /* NULL-terminated */
};
static inline struct rpc *call_rpc(const struct call *c)
{
    return call_context(c);
}

extern const struct service service_fabric, service_sim, service_health, service_reflection,
    service_reflection_alpha;

/* The published view (a reference), or NULL: none yet, and the call is finished with an error. */
struct fab_view *need_view(struct call *c);
/* The same with tables. */
struct fab_view *need_target(struct call *c);
/* These finish the call with an error that says what is wrong, unless they return OK. */
int find_node(struct call *c, const struct fab_view *v, const char *what, uint32_t *ret_node);
int find_end(struct call *c, const struct fab_view *v, const char *what, uint32_t *ret_port);
int find_port(struct call *c, const struct fab_view *v, const char *node, uint32_t number,
              uint32_t *ret_port);
/* "NODE/PORT": true when NODE is one; its name and the number. */
bool is_port_name(const struct fab_view *v, const char *text, char node[FAB_NODE_DESC_LEN + 1],
                  uint32_t *ret_number); /* service_whatif.c */
/* The page of a list that a request is about. */
struct page {
    bool given;          /* it goes on */
    struct page_key key; /* behind this row, if so */
    uint32_t want;       /* rows at most */
};
/* False: the token is none of this list, and the call is finished. */
bool read_page(struct call *c, char list, const char *token, uint32_t size, struct page *ret);
void refuse_token(struct call *c, const char *token);

/* Methods of FabricService, grouped as their files are. */
typedef void call_handler(struct call *c, const void *request);
call_handler get_status, get_version, sweep, reroute, rebalance;     /* service_status.c */
call_handler list_nodes, get_node;                                   /* service_node.c */
call_handler list_ports, get_port, disable_port, enable_port;        /* service_port.c */
call_handler list_links, list_flapping_links, release_link;          /* service_link.c */
call_handler list_unhealthy_links, list_port_counters, isolate_link; /* service_unhealthy.c */
call_handler trace_path, get_forwarding_table, get_verdict;          /* service_route.c */
call_handler get_quality;                                            /* service_quality.c */
call_handler compare_engines;                                        /* service_compare.c */
call_handler what_if;                                                /* service_whatif.c */
call_handler list_contingencies, get_contingency;                    /* service_contingency.c */
call_handler export_file;                                            /* service_export.c */
call_handler list_classes, list_class_rules;                         /* service_class.c */
call_handler list_multicast_groups, list_multicast_members;          /* service_multicast.c */
call_handler list_partitions, list_partition_members;                /* service_partition.c */
call_handler list_host_services, list_subscriptions;                 /* service_registry.c */
call_handler get_congestion, get_port_congestion, get_roce;          /* service_congestion.c */
call_handler list_congested_ports, list_congestion_logs;             /* service_congested.c */
call_handler list_reroutes, get_reroute;                             /* service_reroute.c */
call_handler list_events, watch_events;                              /* service_event.c */

/* Which ports a list is about: [first, end). */
struct port_range {
    uint32_t first, end;
};
/* Of a page of a list of ports, all or those of one node ("": all). kind: see page_parse. Finishes
 * the call unless OK. */
int read_port_range(struct call *c, const struct fab_view *v, char kind, const char *page_token,
                    const char *node, struct port_range *ret);

#endif
