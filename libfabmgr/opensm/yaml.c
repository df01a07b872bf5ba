/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the converted settings as fabricd.yaml, one group after the other. */
#include <string.h>

#include "libfabmgr/opensm/convert.h"

static const char *const groups[] = {"",          "sweep",      "smp",        "subnet",
                                     "routing",   "names",      "partitions", "qos",
                                     "multicast", "congestion", "counters"};

/* Returns true if a later setting has the same key. Only the last one is written, because the file
 * can have each key only once. */
static bool is_replaced(const struct fab_opensm_convert *c, size_t i)
{
    for (size_t k = i + 1; k < c->settings; k++)
        if (strcmp(c->setting[i].group, c->setting[k].group) == 0 &&
            strcmp(c->setting[i].key, c->setting[k].key) == 0)
            return true;
    return false;
}

static void write_group(const struct fab_opensm_convert *c, const char *group, struct fab_text *to)
{
    bool any = false;
    for (size_t i = 0; i < c->settings; i++) {
        const struct fab_opensm_setting *s = &c->setting[i];
        if (strcmp(s->group, group) != 0 || is_replaced(c, i))
            continue;
        if (!any && group[0] != '\0')
            fab_base_text_addf(to, "%s:\n", group);
        any = true;
        const char *indent = group[0] != '\0' ? "  " : "";
        fab_base_text_addf(to, "%s# %s\n%s%s: ", indent, s->origin, indent, s->key);
        fab_base_text_add(to, s->value);
        fab_base_text_add(to, "\n");
    }
}

void fab_opensm_yaml(const struct fab_opensm_convert *c, struct fab_text *to)
{
    fab_base_text_add(to,
                      "# fabricctl import opensm made this file from a configuration of OpenSM. "
                      "The comments name\n"
                      "# OpenSM's options. fabricd.yaml(5) describes all settings; those that "
                      "are missing here have\n"
                      "# their defaults.\n");
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        write_group(c, groups[i], to);
}
