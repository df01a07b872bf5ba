/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the lines of OpenMetrics 1.0.0 and of the text format 0.0.4 of Prometheus. The samples are
 * the same in both. In OpenMetrics, the name of a family has no suffix, a family with a unit has a
 * UNIT line, and the page ends with "# EOF". In the text format, the name of a family of counters
 * ends in "_total". It does not have the type "info": a family of this type is written as a gauge
 * whose name ends in "_info".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/metrics/private.h"
#include "libfabmgr/grpc/grpc.h"

static const struct {
    const char *openmetrics, *text, *suffix;
} types[] = {
    [PAGE_COUNTER] = {"counter", "counter", "_total"},
    [PAGE_GAUGE] = {"gauge", "gauge", ""},
    [PAGE_INFO] = {"info", "gauge", "_info"},
    [PAGE_HISTOGRAM] = {"histogram", "histogram", ""},
    [PAGE_SUMMARY] = {"summary", "summary", ""},
};

/* Returns the unit at the end of a name, such as "seconds" for "uptime_seconds"; NULL: the name has
 * no unit. */
static const char *unit_of(const char *name)
{
    static const char *const units[] = {"seconds", "bytes"};
    const char *last = strrchr(name, '_');
    for (size_t i = 0; last && i < sizeof(units) / sizeof(*units); i++)
        if (strcmp(last + 1, units[i]) == 0)
            return units[i];
    return NULL;
}

void page_family(struct page *to, const char *name, enum page_type type, const char *help)
{
    const char *unit = unit_of(name), *suffix = types[type].suffix;
    if (to->format == METRICS_TEXT) {
        fab_base_text_addf(to->text, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name,
                           suffix, types[type].text);
        return;
    }
    fab_base_text_addf(to->text, "# TYPE %s %s\n", name, types[type].openmetrics);
    if (unit && type != PAGE_INFO)
        fab_base_text_addf(to->text, "# UNIT %s %s\n", name, unit);
    fab_base_text_addf(to->text, "# HELP %s %s\n", name, help);
}

void page_own_family(struct page *to, const char *name, enum page_type type, const char *help)
{
    char full[80];
    snprintf(full, sizeof(full), "fabricd_%s", name);
    page_family(to, full, type, help);
}

void page_counter(struct page *to, const char *name, uint64_t value, const char *help)
{
    page_own_family(to, name, PAGE_COUNTER, help);
    fab_base_text_addf(to->text, "fabricd_%s_total %" PRIu64 "\n", name, value);
}

void page_gauge(struct page *to, const char *name, uint64_t value, const char *help)
{
    page_own_family(to, name, PAGE_GAUGE, help);
    fab_base_text_addf(to->text, "fabricd_%s %" PRIu64 "\n", name, value);
}

void page_label(struct fab_text *to, const char *name, const char *value)
{
    char clean[3 * 128];
    fab_grpc_utf8_clean(value, strlen(value), clean, sizeof(clean));
    fab_base_text_add(to, name);
    fab_base_text_add(to, "=\"");
    for (const char *at = clean; *at != '\0';) {
        size_t plain = strcspn(at, "\"\\");
        fab_base_text_bytes(to, at, plain);
        at += plain;
        if (*at != '\0') {
            fab_base_text_bytes(to, (const char[]){'\\', *at}, 2);
            at++;
        }
    }
    fab_base_text_add(to, "\"");
}

void page_number(struct fab_text *to, uint64_t value)
{
    char digits[24], *at = digits + sizeof(digits);
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    fab_base_text_bytes(to, at, (size_t)(digits + sizeof(digits) - at));
}

void page_end(struct page *to)
{
    if (to->format == METRICS_OPENMETRICS)
        fab_base_text_add(to->text, "# EOF\n");
}
