/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture of `fabricctl top`. */
#ifndef CLI_CTL_TOP_VIEW_H
#define CLI_CTL_TOP_VIEW_H

#include "cli/ctl/frame.h"
#include "cli/ctl/top_data.h"

struct top_view {
    const struct top_data *data;
    struct top_load load;
    Fabric__V1__PortRank by;
    bool paused;
    const char *alert; /* why the data is not up to date; "": it is up to date */
};
/* Appends the picture to the frame. A frame without a height gets at most ten rows of each list,
 * and no line about the keys. */
void top_show(const struct top_view *v, struct frame *f);

#endif
