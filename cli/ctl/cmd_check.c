/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl topo check`, which compares the fabric with a cabling plan. */
#include <inttypes.h>

#include "cli/ctl/cabling.h"
#include "cli/ctl/check_watch.h"
#include "cli/ctl/show_cabling.h"
#include "libfabmgr/base/status.h"

/* Prints that the names of the plan and those of the fabric have nothing in common, with examples.
 * Returns the exit code. */
static int complain_foreign(const struct fab_cabling_check *c)
{
    const char *planned = "", *observed = "";
    for (uint32_t i = c->site_count; i-- > 0;) {
        if (c->sites[i].observed == FAB_NONE)
            planned = c->sites[i].name;
        else if (c->sites[i].planned == FAB_NONE)
            observed = c->sites[i].name;
    }
    return complain(
        EXIT_FAILED,
        "only %" PRIu32 " of the %" PRIu32 " nodes of the plan are among the %" PRIu32
        " nodes of the fabric, too few to compare them: the plan has names such as \"%s\", the "
        "fabric names such as \"%s\"; set the names of switches and hosts (NodeDescription) as in "
        "the plan, or use a plan with GUIDs (ibnetdiscover)",
        c->plan->node_count - c->matched[FAB_CABLING_UNMATCHED], c->plan->node_count,
        c->fabric->node_count, planned, observed);
}

static int say(struct session *s, const struct fab_cabling_plan *plan,
               const struct fab_fabric *fabric)
{
    struct fab_cabling_check *c = NULL;
    int status = fab_cabling_compare(plan, fabric, &c);
    if (status != FAB_OK)
        return complain(EXIT_FAILED, "%s", fab_base_status_text(status));
    int rc = EXIT_OK;
    if (fab_cabling_is_foreign(c))
        rc = complain_foreign(c);
    else
        show_cabling(s->out, c);
    if (rc == EXIT_OK && c->difference_count > 0)
        rc = EXIT_UNSOUND;
    fab_cabling_check_free(c);
    return rc;
}

static int check_once(struct session *s, const struct fab_cabling_plan *plan)
{
    struct fab_fabric *fabric = NULL;
    struct fab_client_error error;
    int rc = fetch_fabric(s, &fabric, &error);
    rc = rc == EXIT_OK ? say(s, plan, fabric) : say_error(&error);
    fab_fabric_unref(fabric);
    return rc;
}

static int check(struct session *s)
{
    struct fab_cabling_plan *plan = NULL;
    int rc = read_plan(s, &plan);
    if (rc == EXIT_OK)
        rc = s->watch ? watch_cabling(s, plan) : check_once(s, plan);
    fab_cabling_plan_free(plan);
    return rc;
}

const struct cmd cmd_topo_check = {
    .noun = "topo",
    .verb = "check",
    .args = "PLAN... [--watch [-n COUNT]]",
    .summary = "compare the cables with a plan, and how to mend them",
    .min_args = 1,
    .max_args = 64,
    .options = "nk",
    .method = "fabric.v1.FabricService/Export",
    .run = check,
};
