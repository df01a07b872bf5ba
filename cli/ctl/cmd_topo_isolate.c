/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl topo isolate`. The command isolates the ISLs that are not cabled as
 * planned, so that routes avoid them until the cables are corrected. It isolates one link after the
 * other with the method of `link isolate`, which refuses to isolate a link that the fabric
 * needs. */
#include <inttypes.h>

#include "cli/ctl/cabling.h"
#include "cli/ctl/show_cabling.h"
#include "fabric/v1/link.pb-c.h"

static const struct out_column columns[] = {
    {"link", "LINK", false},
    {"kind", "PROBLEM", false},
    {"result", "RESULT", false},
};

/* Returns true if the difference is a wrong cable between two switches. */
static bool is_wrong_isl(const struct fab_cabling_check *c, const struct fab_cabling_difference *d)
{
    switch (d->kind) {
    case FAB_CABLING_SWAPPED:
    case FAB_CABLING_WRONG_PORT:
    case FAB_CABLING_WRONG_PLANE:
    case FAB_CABLING_EXTRA:
        return fab_cabling_site_of(c, d->a)->is_switch && fab_cabling_site_of(c, d->b)->is_switch;
    default:
        return false;
    }
}

/* Isolates the link of a port. With --dry-run, only asks the manager whether it would isolate the
 * link. Returns true if the link is, or would be, isolated; this includes a link that was isolated
 * before. Otherwise *ret_error has the reason. */
static bool isolate_port(struct session *s, const struct fab_cabling_check *c, uint32_t port,
                         struct fab_client_error *ret_error)
{
    Fabric__V1__IsolateLinkRequest q = FABRIC__V1__ISOLATE_LINK_REQUEST__INIT;
    char guid[24];
    ProtobufCMessage *m = NULL;
    snprintf(guid, sizeof guid, "0x%016" PRIx64,
             c->fabric->nodes[fab_cabling_site_of(c, port)->observed].guid);
    q.node = guid;
    q.dry_run = s->dry_run;
    q.port_number = fab_cabling_port_number(c, port);
    fab_client_call(s->client, s->cmd->method, &q.base,
                    &fabric__v1__isolate_link_response__descriptor, &m, ret_error);
    if (ret_error->code == FAB_GRPC_OK)
        free_reply(m);
    return ret_error->code == FAB_GRPC_OK || ret_error->code == FAB_GRPC_ALREADY_EXISTS;
}

/* Isolates the link that differs from the plan, and prints the result. With --dry-run, only asks
 * whether the manager would isolate the link. Returns the exit code. */
static int isolate_one(struct session *s, const struct fab_cabling_check *c,
                       const struct fab_cabling_difference *d)
{
    struct fab_client_error error = {.code = FAB_GRPC_OK};
    char a[SHOW_CABLING_PORT], b[SHOW_CABLING_PORT], link[2 * SHOW_CABLING_PORT + 4];
    bool done = isolate_port(s, c, d->a, &error);
    snprintf(link, sizeof link, "%s - %s", show_cabling_port(c, d->a, a),
             show_cabling_port(c, d->b, b));
    out_row(s->out);
    out_text(s->out, "link", "LINK", OUT_PLAIN, link);
    out_text(s->out, "kind", "PROBLEM", OUT_PLAIN, fab_cabling_kind_name(d->kind));
    out_text(s->out, "result", "RESULT", done ? OUT_GOOD : OUT_BAD,
             !done        ? error.message
             : s->dry_run ? "would be isolated"
                          : "isolated");
    out_row_end(s->out);
    return done ? EXIT_OK : EXIT_FAILED;
}

static int isolate_all(struct session *s, const struct fab_cabling_check *c)
{
    size_t links = 0;
    int rc = EXIT_OK;
    out_record(s->out, NULL);
    out_table(s->out, "links", columns, sizeof columns / sizeof *columns, false);
    for (size_t i = 0; i < c->difference_count; i++) {
        if (!is_wrong_isl(c, &c->differences[i]))
            continue;
        links++;
        if (isolate_one(s, c, &c->differences[i]) != EXIT_OK)
            rc = EXIT_FAILED;
    }
    out_table_end(s->out);
    if (links == 0)
        out_note(s->out, OUT_GOOD, "No link between switches is in a wrong place.");
    out_record_end(s->out);
    return rc;
}

static int isolate(struct session *s)
{
    struct fab_cabling_plan *plan = NULL;
    struct compared x = {0};
    int rc = read_plan(s, &plan);
    if (rc == EXIT_OK && s->dry_run)
        rc = check_dry_run(s, s->cmd->method);
    if (rc == EXIT_OK)
        rc = compare_fabric(s, plan, &x);
    if (rc == EXIT_OK)
        rc = isolate_all(s, x.check);
    compared_fini(&x);
    fab_cabling_plan_free(plan);
    return rc;
}

const struct cmd cmd_topo_isolate = {
    .noun = "topo",
    .verb = "isolate",
    .args = "PLAN... [--dry-run] [--local] [--reason TEXT]",
    .summary = "isolate links between switches that are not cabled as planned",
    .min_args = 1,
    .max_args = 64,
    .options = "Drl",
    .method = "fabric.v1.FabricService/IsolateLink",
    .json = "links:[ link:text kind:cabling_kind result:text ]",
    .run = isolate,
};
