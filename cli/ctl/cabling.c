/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the fabric with a plan. fabricctl makes the comparison, and not the manager, for two
 * reasons. The plan of a large fabric has several megabytes, more than a request may contain. And
 * the comparison would occupy the manager's worker threads. The manager sends the fabric as
 * ibnetdiscover text. */
#include "cli/ctl/cabling.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/excluded.h"
#include "fabric/v1/export.pb-c.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"

#define PLAN_MAX ((size_t)256 << 20)

/* Reads the rest of a stream. Returns 0 or an errno. */
static int slurp(FILE *file, struct fab_text *t)
{
    char block[65536];
    size_t got;
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        fab_base_text_bytes(t, block, got);
        if (t->status != FAB_OK)
            return ENOMEM;
        if (t->len > PLAN_MAX)
            return EFBIG;
    }
    return ferror(file) ? errno : 0;
}

static int read_file(const char *path, struct fab_text *t)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (f == NULL)
        return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
    int failed = slurp(f, t);
    if (f != stdin)
        fclose(f);
    return failed == 0 ? EXIT_OK : complain(EXIT_FAILED, "%s: %s", path, strerror(failed));
}

static int add_file(struct fab_cabling_plan *plan, const char *path)
{
    struct fab_text t = {0};
    struct fab_text_error error;
    int rc = read_file(path, &t);
    int status =
        rc == EXIT_OK ? fab_cabling_plan_read(plan, fab_base_text_get(&t), t.len, &error) : FAB_OK;
    if (status == FAB_E_FORMAT)
        rc = complain(EXIT_FAILED, "%s:%u:%u: %s", path, error.line, error.column, error.message);
    else if (status != FAB_OK)
        rc = complain(EXIT_FAILED, "%s: %s", path, fab_base_status_text(status));
    fab_base_text_fini(&t);
    return rc;
}

int read_plan(struct session *s, struct fab_cabling_plan **ret_plan)
{
    struct fab_cabling_plan *plan = fab_cabling_plan_new();
    int rc = plan != NULL ? EXIT_OK : complain(EXIT_FAILED, "out of memory");
    for (int i = 0; i < s->argc && rc == EXIT_OK; i++)
        rc = add_file(plan, s->argv[i]);
    if (rc == EXIT_OK)
        *ret_plan = plan;
    else
        fab_cabling_plan_free(plan);
    return rc;
}

/* ---- the fabric ------------------------------------------------------------------------------ */

static bool each(void *ctx, const ProtobufCMessage *message)
{
    struct fab_text *t = ctx;
    const Fabric__V1__ExportResponse *r = (const Fabric__V1__ExportResponse *)message;
    fab_base_text_bytes(t, r->data.data, r->data.len);
    return t->status == FAB_OK;
}

static int make_fabric(struct session *s, const struct fab_text *t, struct fab_fabric **ret_fabric,
                       struct fab_client_error *ret_error)
{
    struct fab_text_error error = {0};
    struct fab_builder *b = NULL;
    int status = t->status;
    if (status == FAB_OK)
        status = fab_fabric_text_read(fab_base_text_get(t), t->len, &b, &error);
    int rc = status == FAB_OK ? add_excluded_links(s, b, ret_error) : EXIT_FAILED;
    if (rc == EXIT_OK)
        status = fab_fabric_builder_seal(b, ret_fabric);
    fab_fabric_builder_free(b);
    if (status == FAB_OK)
        return rc;
    ret_error->code = FAB_GRPC_INTERNAL;
    snprintf(ret_error->message, sizeof ret_error->message,
             "the fabric that the manager sent could not be read: %s",
             status == FAB_E_FORMAT ? error.message : fab_base_status_text(status));
    return EXIT_FAILED;
}

int fetch_fabric(struct session *s, struct fab_fabric **ret_fabric,
                 struct fab_client_error *ret_error)
{
    Fabric__V1__ExportRequest q = FABRIC__V1__EXPORT_REQUEST__INIT;
    struct fab_text t = {0};
    q.format = FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_IBNETDISCOVER;
    fab_client_stream(s->client, "fabric.v1.FabricService/Export", &q.base,
                      &fabric__v1__export_response__descriptor, each, &t, ret_error);
    int rc =
        ret_error->code == FAB_GRPC_OK ? make_fabric(s, &t, ret_fabric, ret_error) : EXIT_FAILED;
    fab_base_text_fini(&t);
    return rc;
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Prints that the plan and the fabric have too few nodes in common, with examples of names that
 * only one of them has. Returns the exit code. */
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

int compare_fabric(struct session *s, const struct fab_cabling_plan *plan, struct compared *ret)
{
    struct fab_client_error error;
    *ret = (struct compared){0};
    if (fetch_fabric(s, &ret->fabric, &error) != EXIT_OK)
        return say_error(&error);
    int status = fab_cabling_compare(plan, ret->fabric, &ret->check);
    if (status != FAB_OK)
        return complain(EXIT_FAILED, "%s", fab_base_status_text(status));
    return fab_cabling_is_foreign(ret->check) ? complain_foreign(ret->check) : EXIT_OK;
}

void compared_fini(struct compared *x)
{
    fab_cabling_check_free(x->check);
    fab_fabric_unref(x->fabric);
}
