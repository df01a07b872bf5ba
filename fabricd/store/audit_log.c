/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes rows of the audit log to the daemon's log, so that another machine can collect them. The
 * text in the log is a sentence. In the journal of systemd, the entry also has each column of the
 * row as a field. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "fabricd/base/log.h"
#include "fabricd/store/state.h"
#include "libfabmgr/grpc/grpc.h"

static const char *get(const struct audit_row *row, enum audit_text i)
{
    return row->text[i] != NULL ? row->text[i] : "";
}

/* Appends `separator` and `value` to the line if `value` is not empty. used: length of the line
 * before. Returns the length of the line after. */
static size_t add(char *line, size_t room, size_t used, const char *separator, const char *value)
{
    if (value[0] == '\0' || used >= room)
        return used;
    int n = snprintf(line + used, room - used, "%s%s", separator, value);
    return n > 0 ? used + (size_t)n : used;
}

void store_audit_log(const struct audit_row *row)
{
    char line[2000] = "";
    /* END rows have a result. Notes about the manager have a result, too, but their result is
     * logged only if it is an error. */
    bool ended = row->kind == AUDIT_END || (row->kind == AUDIT_NOTE && row->result != FAB_GRPC_OK);
    const char *result = ended ? fab_grpc_code_name((int)row->result) : "";
    size_t used = add(line, sizeof(line), 0, "", get(row, AUDIT_ACCOUNT));
    if (get(row, AUDIT_SOURCE)[0] != '\0') {
        used = add(line, sizeof(line), used, " (", get(row, AUDIT_SOURCE));
        used = add(line, sizeof(line), used, "", ")");
    }
    used = add(line, sizeof(line), used, " ", get(row, AUDIT_METHOD));
    used = add(line, sizeof(line), used, " ", get(row, AUDIT_OBJECT));
    used = add(line, sizeof(line), used, ", before: ", get(row, AUDIT_BEFORE));
    used = add(line, sizeof(line), used, ", after: ", get(row, AUDIT_AFTER));
    used = add(line, sizeof(line), used, ", result: ", result);
    used = add(line, sizeof(line), used, ", reason: ", get(row, AUDIT_REASON));
    add(line, sizeof(line), used, ": ", get(row, AUDIT_MESSAGE));
    const struct log_field fields[] = {
        {"FABRIC_ACCOUNT", get(row, AUDIT_ACCOUNT)},
        {"FABRIC_SOURCE", get(row, AUDIT_SOURCE)},
        {"FABRIC_METHOD", get(row, AUDIT_METHOD)},
        {"FABRIC_OBJECT", get(row, AUDIT_OBJECT)},
        {"FABRIC_BEFORE", get(row, AUDIT_BEFORE)},
        {"FABRIC_AFTER", get(row, AUDIT_AFTER)},
        {"FABRIC_RESULT", result},
        {"FABRIC_REASON", get(row, AUDIT_REASON)},
    };
    log_record("audit", fields, sizeof(fields) / sizeof(*fields), line);
}
