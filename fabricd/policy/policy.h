/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The applied policy (fabricd-policy(5)): plans and makes changes of it, and keeps its versions.
 *
 * The newest version in the store is in force. Its sections replace those of fabricd.yaml in the
 * policy of the configuration. For a section that this version lacks, the settings of fabricd.yaml
 * apply. A change is one new row of the store. Everything else follows from this row, also after a
 * crash: fabricd derives the policy of the configuration from it at each start, and carries out the
 * decisions (isolated links, approvals) as soon as this manager is master and knows the fabric.
 *
 * All functions must be called on the loop thread.
 */
#ifndef FABRICD_POLICY_POLICY_H
#define FABRICD_POLICY_POLICY_H

#include "fabricd/base/bus.h"
#include "fabricd/config/config.h"
#include "fabricd/config/document.h"
#include "fabricd/loop/loop.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/policies.h"
#include "libfabmgr/policy/lines.h"

#define POLICY_WHY_LEN 600

struct policy;
struct policy_input {
    struct loop *loop;
    struct bus *bus;
    struct store *store;
    /* the configuration; the sections of the applied policy replace parts of its member `policy` */
    struct config *config;
    /* Called after config->policy has changed. Must pass the new policy on to the other parts of
     * fabricd. Returns OK, or NOMEM if these parts keep the old policy. */
    int (*changed)(void *ctx);
    void *ctx;
};
/* Loads the version in force from the store and applies it to config->policy. Returns NOMEM, an
 * error of the store, or another error if the version does not fit the settings; why[] then has the
 * reason. */
int policy_new(const struct policy_input *in, struct policy **ret, char *why, size_t why_len);
void policy_free(struct policy *p); /* `p` may be NULL */
/* Tells the policy that the subnet manager exists now; it is created later than the policy. */
void policy_attach(struct policy *p, struct sm *sm);
/* Loads the version in force again. Call this function when the store has got rows of another
 * manager. */
void policy_load(struct policy *p);
/* Call these two functions when the settings have been read again. policy_fits returns an error,
 * with the reason in why[], if the applied policy does not fit the new settings. Call policy_rebase
 * when config->policy has the new settings; it replaces parts of them by the sections of the
 * applied policy. */
int policy_fits(const struct policy *p, const struct config *now, char *why, size_t why_len);
void policy_rebase(struct policy *p);

struct policy_status {
    /* number of the version in force; 0: no applied policy is in force */
    uint64_t version;
    /* true: the applied policy replaces this section of fabricd.yaml */
    bool has[FAB_DECLARED_SECTIONS];
};
void policy_get_status(const struct policy *p, struct policy_status *ret);

/* What to apply: the files `file` or, if `rollback` is true, the version `version` from the store
 * (0: the empty policy). */
struct policy_request {
    const struct document_file *file; /* [files] */
    size_t files;
    bool rollback;
    uint64_t version;
};
/* What a change would do. The plan is made before the change. */
struct policy_plan {
    uint64_t base;  /* the version in force when the plan was made */
    bool unchanged; /* true: the version in force has the same text */
    char *text;     /* the text of the new version, as it will be stored */
    char hash[65];
    struct fab_declared declared;
    struct fab_doc doc;
    struct fab_policy policy; /* the policy that would be in force */
    /* The results of the plan: `change` is what would change, `warnings` what the operator should
     * know, and `confirmations` what the operator must confirm. */
    struct fab_policy_change *change; /* [changes] */
    size_t changes;
    struct fab_text warnings, confirmations; /* each text has one line for each item */
    struct fab_arena arena;
    int status; /* NOMEM: memory ran out while `change`, `warnings` or `confirmations` was made */
};
/* Makes a plan, and checks it against the fabric. Returns BUSY (no fabric is known yet), NOT_FOUND
 * (a name or the version does not exist), the errors of document_read and config_check, or DENIED,
 * LIMIT or UNREACHABLE (the manager would refuse to isolate a link). After these errors, why[] has
 * a sentence. Also returns NOMEM. The caller calls policy_plan_fini if this function succeeds. */
int policy_plan(struct policy *p, const struct policy_request *q, struct policy_plan *ret,
                char *why, size_t why_len);
void policy_plan_fini(struct policy_plan *plan);
/* Makes the change: stores a new version and applies it. The plan must have been made in the same
 * iteration of the event loop. If this function returns NOMEM, it has changed nothing. If the
 * manager refuses to isolate a link or to approve a device after the version was stored, this is
 * logged, and the version stays in force. */
int policy_apply(struct policy *p, struct policy_plan *plan, const char *by, const char *reason,
                 uint64_t *ret_version, char *why, size_t why_len);
/* Appends a policy as lines (libfabmgr/policy/lines.h): the sections of this version, and the
 * sections of fabricd.yaml that the version does not have. `version` 0: only the sections of
 * fabricd.yaml. Returns NOT_FOUND or an error of the reader, with the reason in why[]; or NOMEM or
 * an error of the store, without a reason. */
int policy_lines(const struct policy *p, uint64_t version, struct fab_text *to, char *why,
                 size_t why_len);

#endif
