/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes the import of opensm.conf. The input is the text of opensm.conf and, after a line "%%",
 * the text of all files that opensm.conf names. The import must say what became of each option.
 * Each line of the resulting settings must be a comment, or begin with a lower-case letter as names
 * of settings do. Most lines that the import copied from the input by mistake are found in this
 * way. */
#include <assert.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/opensm/opensm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct fab_opensm_import *out)
{
    assert(out->outputs >= 1 && out->outputs <= FAB_OPENSM_OUTPUTS);
    for (size_t i = 0; i < out->count; i++) {
        const struct fab_opensm_item *item = &out->item[i];
        assert(item->name != NULL && item->value != NULL && item->note != NULL);
        assert(item->setting != NULL && item->fate <= FAB_OPENSM_UNKNOWN);
        assert((item->fate != FAB_OPENSM_TAKEN) || item->setting[0] != '\0');
    }
    for (const char *at = out->output[0].text; *at != '\0'; at = strchr(at, '\n') + 1) {
        size_t indent = strspn(at, " ");
        assert(strchr(at, '\n') != NULL && (indent == 0 || indent == 2));
        assert(at[indent] == '#' || (at[indent] >= 'a' && at[indent] <= 'z'));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *rest = NULL;
    struct fab_opensm_conf conf;
    struct fab_opensm_import out;
    size_t len = size;
    for (size_t i = 0; rest == NULL && i + 4 <= size; i++)
        if (memcmp(text + i, "\n%%\n", 4) == 0) {
            rest = text + i + 4;
            len = i + 1;
        }
    if (fab_opensm_conf_read(text, len, &conf) != FAB_OK)
        return 0;
    struct fab_opensm_input in = {.conf = &conf, .folder = "/etc/fabricd"};
    for (unsigned kind = 0; rest != NULL && kind < FAB_OPENSM_FILES; kind++) {
        in.file[kind].text = rest;
        in.file[kind].path = "file";
        in.file[kind].len = size - (size_t)(rest - text);
    }
    if (fab_opensm_import(&in, &out) == FAB_OK) {
        check(&out);
        fab_opensm_import_fini(&out);
    }
    fab_opensm_conf_fini(&conf);
    return 0;
}
