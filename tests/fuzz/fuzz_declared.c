/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes the files of an applied policy. Any input is refused with a message, or gives sections
 * within the limits of the policy. The sections are described by lines of text; a comparison of
 * these lines with themselves must find no difference. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/config/document.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void never(void *ctx, const struct fab_policy_change *c)
{
    (void)ctx;
    (void)c;
    abort();
}

static void check(const struct fab_declared *d, const struct fab_doc *doc)
{
    struct fab_policy p;
    struct fab_text text = {0};
    char why[300];
    fab_policy_defaults(&p);
    fab_policy_declared_apply(d, &p);
    if (fab_policy_validate(&p, why, sizeof(why)) != FAB_OK)
        abort();
    for (size_t i = 0; i < d->refs; i++)
        if (d->ref[i].at.line == 0 || d->ref[i].at.file >= doc->files || d->ref[i].path[0] == '\0')
            abort();
    fab_policy_lines(&p, &text);
    fab_policy_lines_decisions(d, &text);
    if (text.status == FAB_OK)
        (void)fab_policy_lines_compare(fab_base_text_get(&text), fab_base_text_get(&text), never,
                                       NULL);
    fab_base_text_fini(&text);
    fab_policy_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct document_file file = {"f.yaml", (const char *)data, size};
    struct fab_doc doc;
    struct fab_declared d;
    char why[600] = "";
    if (document_read(&file, 1, &doc, &d, why, sizeof(why)) != FAB_OK) {
        if (why[0] == '\0')
            abort(); /* the input was refused without a message */
        return 0;
    }
    check(&d, &doc);
    fab_policy_declared_fini(&d);
    fab_policy_doc_fini(&doc);
    return 0;
}
