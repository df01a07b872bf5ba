/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the node-name-map, and the LIDs that OpenSM assigned. */
#include "fabricd/config/files.h"

#include <stdlib.h>

#include "fabricd/config/slurp.h"
#include "libfabmgr/base/status.h"

/* Reads a file as slurp() does. If there is an error, its message has the position of the setting
 * `path`. */
static int read_file(struct report *report, const char *path, const char *file, size_t most,
                     const char *what, char **ret_text, size_t *ret_len)
{
    char why[300];
    int rc = slurp(file, most, what, ret_text, ret_len, why, sizeof(why));
    if (rc != FAB_OK)
        report_key(report, path, "%s", why);
    return rc;
}

static int take_names(const char *file, struct report *report, struct fab_policy *p)
{
    static const char key[] = "names.node_name_map";
    struct fab_node_names_error error;
    char *text = NULL;
    size_t len = 0;
    int rc = read_file(report, key, file, FAB_NODE_NAMES_TEXT_MAX, "node names", &text, &len);
    if (rc != FAB_OK)
        return rc;
    rc = fab_policy_node_names_read(text, len, &p->node_names, &error);
    if (rc == FAB_E_FORMAT)
        report_key(report, key, "%s:%u: %s", file, error.line, error.message);
    free(text);
    return rc;
}

static int take_lids(const char *file, struct report *report, struct fab_policy *p)
{
    static const char key[] = "subnet.lid_file";
    struct fab_line_error error;
    char *text = NULL;
    size_t len = 0;
    int rc = read_file(report, key, file, FAB_LID_LIST_TEXT_MAX, "LIDs", &text, &len);
    if (rc != FAB_OK)
        return rc;
    rc = fab_policy_lid_list_read(text, len, &p->listed_lids, &error);
    if (rc == FAB_E_FORMAT)
        report_key(report, key, "%s:%u: %s", file, error.line, error.message);
    free(text);
    return rc;
}

int files_take(const struct raw *raw, struct report *report, struct fab_policy *p)
{
    const char *names = raw->names != NULL ? raw->names->node_name_map : NULL;
    const char *lids = raw->subnet != NULL ? raw->subnet->lid_file : NULL;
    int rc = FAB_OK;
    if (names != NULL && names[0] != '\0')
        rc = take_names(names, report, p);
    if (rc == FAB_OK && lids != NULL && lids[0] != '\0')
        rc = take_lids(lids, report, p);
    return rc;
}
