/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a whole page at once, for reports about faults: the families of metrics about the manager,
 * and those about ports whose links had errors recently, in OpenMetrics. maker.c makes the pages
 * that are served over HTTP. */
#include "fabricd/metrics/private.h"

void metrics_page(const struct metrics_input *in, struct fab_text *text)
{
    struct page to = {text, METRICS_OPENMETRICS};
    struct port_rows rows;
    page_manager(in, NULL, &to);
    port_rows_init(&rows, in);
    port_rows_watched(&rows, in, CONFIG_METRICS_OWN);
    page_ports(&rows, CONFIG_METRICS_OWN, &to);
    port_rows_fini(&rows);
    page_end(&to);
}
