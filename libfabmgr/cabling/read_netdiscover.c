/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a plan from ibnetdiscover text, with the reader of libfabmgr/fabric. The nodes of the plan
 * get their GUIDs. */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/read.h"

/* Returns true if a line of the text has a rate, such as 4xEDR. Files that people wrote for ibsim
 * have no rates. For these, the reader of fabrics assumes a rate, which must not become a part of
 * the plan. */
static bool has_rates(const char *text, size_t len)
{
    static const char *const speeds[] = {"SDR", "DDR", "QDR", "FDR", "EDR", "HDR", "NDR", "XDR"};
    char word[5] = "x";
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        memcpy(word + 1, speeds[i], 4);
        if (memmem(text, len, word, 4) != NULL)
            return true;
    }
    return false;
}

static int add(struct fab_cabling_plan *p, const struct fab_builder *b, bool rates)
{
    struct fab_fabric *f = NULL;
    int rc = fab_fabric_builder_seal(b, &f);
    if (rc == FAB_OK)
        rc = fab_cabling_plan_add_fabric(p, f, rates);
    fab_fabric_unref(f);
    return rc;
}

int fab_cabling_read_netdiscover(struct fab_cabling_plan *p, const char *text, size_t len,
                                 struct fab_text_error *ret_error)
{
    struct fab_builder *b = NULL;
    int rc = fab_fabric_text_read(text, len, &b, ret_error);
    if (rc == FAB_OK)
        rc = add(p, b, has_rates(text, len));
    fab_fabric_builder_free(b);
    return rc;
}
