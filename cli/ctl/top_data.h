/* SPDX-License-Identifier: BSD-3-Clause */
/* The data that `fabricctl top` shows: the answers of the manager to several requests. */
#ifndef CLI_CTL_TOP_DATA_H
#define CLI_CTL_TOP_DATA_H

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "fabric/v1/counters.pb-c.h"
#include "fabric/v1/gone.pb-c.h"
#include "fabric/v1/link.pb-c.h"
#include "fabric/v1/status.pb-c.h"

#define TOP_WHY_LEN 200

/* A link that needs attention. */
struct top_link {
    const char *state; /* "down", "held down", "flapping", "isolated", "unhealthy" or "degraded" */
    enum out_tone tone;
    const Fabric__V1__PortRef *a, *b;
    char why[TOP_WHY_LEN];
};

/* The answers to one round of requests. NULL: the manager sent no answer. */
struct top_data {
    Fabric__V1__GetStatusResponse *status;
    Fabric__V1__ListTopPortsResponse *ports;
    Fabric__V1__ListGoneLinksResponse *gone;
    Fabric__V1__ListFlappingLinksResponse *flapping;
    Fabric__V1__ListUnhealthyLinksResponse *unhealthy;
    Fabric__V1__ListLinksResponse *degraded;
    Fabric__V1__ListEventsResponse *events; /* newest first */
    struct top_link *links;                 /* [link_count] the worst state first */
    size_t link_count;
    /* true: more links need attention than `links` has */
    bool more_links;
    uint64_t asked_us;  /* monotonic time in us at which the status was requested */
    char no_ports[300]; /* why `ports` is empty; "": it is not empty */
};

/* Requests the status and, if the manager has already swept the fabric, all other data. by: the
 * order of the ports. Returns OK or the code of the first request that failed; *ret_error then has
 * the error. *ret is valid even after an error. */
enum fab_grpc_code top_fetch(struct session *s, Fabric__V1__PortRank by, struct top_data *ret,
                             struct fab_client_error *ret_error);
void top_free(struct top_data *d);

/* How much CPU time the manager uses, in percent of one CPU; negative: not known. */
struct top_load {
    double cpu, loop; /* cpu: of all threads of the manager; loop: of its event loop only */
};
/* Returns the load between two rounds of requests. If before->status is NULL, or if the manager was
 * restarted between the two rounds, returns the load since the start of the manager. */
struct top_load top_load_of(const struct top_data *before, const struct top_data *now);
/* Returns the data rate of a port in the direction that has more traffic, in percent of the rate of
 * its link; negative: not known. */
double top_utilisation(const Fabric__V1__TopPort *p);

#endif
