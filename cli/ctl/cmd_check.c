/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl topo check`, which compares the fabric with a cabling plan. */
#include "cli/ctl/cabling.h"
#include "cli/ctl/check_watch.h"
#include "cli/ctl/show_cabling.h"

static int check_once(struct session *s, const struct fab_cabling_plan *plan)
{
    struct compared x;
    int rc = compare_fabric(s, plan, &x);
    if (rc == EXIT_OK) {
        show_cabling(s->out, x.check);
        rc = x.check->difference_count > 0 ? EXIT_UNSOUND : EXIT_OK;
    }
    compared_fini(&x);
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
    .one_manager = true,
    .args = "PLAN... [--watch [-n COUNT]]",
    .summary = "compare the cables with a plan, and how to correct them",
    .min_args = 1,
    .max_args = 64,
    .options = "nk",
    .method = "fabric.v1.FabricService/Export",
    .json = "format:text planned_nodes:u32 nodes_by_name:u32 nodes_by_guid:u32 nodes_by_place:u32 "
            "other_names:[ node:text name:text guid:guid ] planned_links:u32 correct_links:u32 "
            "kinds:{ *:u32 } =cabling_lists / planned_nodes:u32 present_nodes:u32 "
            "planned_links:u32 correct_links:u32 links_per_minute:amount left_s:u64|null "
            "racks:[ rack:text correct:u32 planned:u32 ]",
    .run = check,
};
