/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the applied policy. For the folder fabricd/policy only. */
#ifndef FABRICD_POLICY_STATE_H
#define FABRICD_POLICY_STATE_H

#include "fabricd/policy/policy.h"

struct policy {
    struct policy_input in;
    struct sm *sm; /* NULL: the subnet manager is not created yet */
    uint64_t version;
    char hash[65];
    struct fab_declared declared; /* the sections of the version in force */
    /* the policy in fabricd.yaml; only its sections are used */
    struct fab_policy base;
    /* The timer is set while interrupted decisions of the version in force wait until this manager
     * is master and knows the fabric. It calls policy_settle, which then carries them out. */
    struct loop_timer *settle;
    /* Number of requests to approve or disapprove devices that the manager has not answered yet.
     * When it becomes 0, the store records that the decisions of the version in force were carried
     * out (store_put_policy_settled). */
    uint32_t pending;
    /* The last version whose decisions this manager has requested; some may still be pending. */
    uint64_t decided;
};

/* A version from the store. policy_stored_load loads it (`version` 0: the newest version), and sets
 * `found` to false if the store does not have it. policy_stored_read reads its text as a policy. */
struct policy_stored {
    bool found;
    uint64_t version;
    char hash[65], *text;
};
int policy_stored_load(const struct policy *p, uint64_t version, struct policy_stored *ret);
int policy_stored_read(const struct policy_stored *v, struct fab_declared *ret, char *why,
                       size_t why_len);
/* Makes a copy of the policy `base` in which the sections of *d replace those of `base`. */
int policy_join(const struct fab_policy *base, const struct fab_declared *d,
                struct fab_policy *ret);

/* Defined in check.c. Compares the names and the partitions of the plan with the fabric. */
int policy_check_names(struct policy *p, struct policy_plan *plan, char *why, size_t why_len);
int policy_check_partitions(struct policy *p, struct policy_plan *plan);
/* Finds the port `place`, which has the form NODE/PORT. Returns NOT_FOUND, with the reason in
 * why[]. */
int policy_find_port(const struct fab_view *v, const char *place, uint32_t *ret_port, char *why,
                     size_t len);
/* Appends a line to `list`, a list of the plan. */
void policy_note(struct policy_plan *plan, struct fab_text *list, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Defined in decide.c. The decisions are isolated links and approvals. */
/* Returns an error, with the reason in why[], if the manager would refuse a decision of the plan.
 * Returns BUSY, without a reason, if no fabric is known yet. */
int policy_check_decisions(struct policy *p, struct policy_plan *plan, char *why, size_t why_len);
/* Carries out the decisions of the version in force. Takes back decisions of earlier versions that
 * this version lacks. The earlier versions are `before`, and the versions in the store, beginning
 * with the last one whose decisions were all carried out. before: the previous version, which the
 * store may not have yet; NULL: the store has it. Does nothing if no fabric is known yet. */
void policy_decide(struct policy *p, const struct fab_declared *before, const char *by);
/* Called when a crash or a hand-over may have interrupted the decisions of the version in force.
 * Unless the store has the number of this version as settled, sets a timer, which carries them out
 * once this manager is master and knows the fabric. */
void policy_settle_begin(struct policy *p);
void policy_settle(void *ctx);

#endif
