/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent of subnet administration: requests of class 3 at QP1 come in, answers over the
 * published view go out, also while a sweep is under way. Loop thread only.
 */
#ifndef FABRICD_SA_SA_H
#define FABRICD_SA_SA_H

#include "fabricd/loop/loop.h"
#include "fabricd/sm/sm.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/registry/services.h"
#include "libfabmgr/registry/subscriptions.h"

struct sa;
struct sa_input {
    struct loop *loop;
    struct transport *transport; /* of the port itself: what a recorder writes down is the sm's */
    struct sm *sm;
    struct bus *bus;
    struct store *store; /* may be NULL: what is registered is not kept */
};
struct sa_stats { /* since the start */
    uint64_t requests;
    uint64_t answered; /* well or badly */
    uint64_t refused;  /* of them: with an error status */
    uint64_t busy;     /* of them: told to come again */
    uint64_t dropped;  /* not answered: malformed, of a wrong key, not for us, no room */
    uint64_t tables;   /* answers that were tables, and their records */
    uint64_t records;
    uint64_t notices; /* to be reported; and reports that were sent, again too, and answered */
    uint64_t reports, reports_answered;
    uint64_t reports_lost; /* notices that a subscriber missed as it was too far behind */
    uint64_t subscribers_gone;
};
int sa_start(const struct sa_input *in, struct sa **ret); /* NOMEM, LIMIT */
void sa_stop(struct sa *s);                               /* NULL is fine */
void sa_get_stats(const struct sa *s, struct sa_stats *ret);
/* What hosts registered; until the caller returns to the loop. */
const struct fab_services *sa_services(const struct sa *s);
const struct fab_subscriptions *sa_subscriptions(const struct sa *s);

#endif
