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

struct sa;
struct sa_input {
    struct loop *loop;
    struct transport *transport; /* of the port itself: what a recorder writes down is the sm's */
    struct sm *sm;
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
};
int sa_start(const struct sa_input *in, struct sa **ret); /* NOMEM, LIMIT */
void sa_stop(struct sa *s);                               /* NULL is fine */
void sa_get_stats(const struct sa *s, struct sa_stats *ret);

#endif
