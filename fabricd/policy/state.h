/* SPDX-License-Identifier: BSD-3-Clause */
/* For the folder fabricd/policy only. */
#ifndef FABRICD_POLICY_STATE_H
#define FABRICD_POLICY_STATE_H

#include "fabricd/policy/policy.h"

struct policy {
    struct policy_input in;
    struct sm *sm; /* NULL: the subnet manager is not created yet */
    uint64_t version;
    char hash[65];
    struct fab_declared declared; /* the sections of the version in force */
    struct fab_policy base;       /* the policy of fabricd.yaml; only the sections are used */
    /* Timer that calls policy_settle. While it is set, the decisions of the version in force are
     * not all carried out. */
    struct loop_timer *settle;
    /* Number of unfinished requests that change the baseline of devices. When this number is 0
     * again, the store notes that the decisions of the version in force are carried out. */
    uint32_t pending;
};

/* The text of a stored version, read as a policy. */
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

/* check.c: compares the plan with the fabric. */
int policy_check_names(struct policy *p, struct policy_plan *plan, char *why, size_t why_len);
int policy_check_partitions(struct policy *p, struct policy_plan *plan);
/* Finds the port NODE/PORT. Returns NOT_FOUND with a sentence in why[]. */
int policy_find_port(const struct fab_view *v, const char *place, uint32_t *ret_port, char *why,
                     size_t len);
/* Appends a line to `list`, a list of the plan. */
void policy_note(struct policy_plan *plan, struct fab_text *list, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* decide.c: isolated links and approvals. */
/* Returns an error and why[] if the manager would refuse a decision. */
int policy_check_decisions(struct policy *p, struct policy_plan *plan, char *why, size_t why_len);
/* Carries out the decisions of the version in force, and takes back the decisions that only
 * `before` has. */
void policy_decide(struct policy *p, const struct fab_declared *before, const char *by);
/* Sets the timer of policy_settle if a crash or a hand-over has interrupted the decisions.
 * policy_settle carries them out as soon as this manager is master and knows the fabric. */
void policy_settle_begin(struct policy *p);
void policy_settle(void *ctx);

#endif
