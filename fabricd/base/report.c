/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabricd/base/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "fabricd/base/log.h"

void report_put_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

void report_node_name(const struct fab_fabric *f, uint32_t node, char *ret, size_t len)
{
    log_clean(f->nodes[node].name, ret, len);
    if (ret[0] == '\0')
        snprintf(ret, len, "0x%016" PRIx64, f->nodes[node].guid);
}
