/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart with marks at times. Each mark is in a lane; the colour of a mark shows its kind. */
#include "libfabmgr/svg/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"

#define LANE 22u
#define LETTER 6.2

static double left_of(const struct fab_svg_timeline *l)
{
    size_t longest = 0;
    for (size_t i = 0; i < l->lane_count; i++)
        longest = strlen(l->lanes[i]) > longest ? strlen(l->lanes[i]) : longest;
    return 28 + LETTER * (double)longest;
}

static double lane_y(uint32_t lane)
{
    return FAB_SVG_HEAD + FAB_SVG_TITLE + lane * (double)LANE;
}

static void draw_lane(struct fab_text *t, const struct fab_svg_timeline *l,
                      const struct fab_svg_scale *s, uint32_t lane)
{
    char text[40];
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        count += l->marks[i].lane == lane;
    double y = lane_y(lane) + LANE / 2.0;
    fab_svg_put(t, s->left - 8, y + 4, "end", NULL, l->lanes[lane]);
    fab_base_text_addf(t, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", s->left, y, s->right);
    snprintf(text, sizeof text, "%zu", count);
    fab_svg_put(t, FAB_SVG_WIDTH - 12, y + 4, "end", "dim", text);
}

static void draw_mark(struct fab_text *t, const struct fab_svg_timeline *l,
                      const struct fab_svg_scale *s, const struct fab_svg_mark *m)
{
    fab_base_text_addf(
        t, "<circle class=\"%s\" fill-opacity=\"0.8\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"><title>",
        l->classes[m->kind], fab_svg_x(s, m->at), lane_y(m->lane) + LANE / 2.0);
    fab_svg_add_escaped(t, m->note);
    fab_base_text_add(t, "</title></circle>\n");
}

int fab_svg_write_timeline(const struct fab_svg_timeline *l, struct fab_text *t)
{
    int64_t from = l->count > 0 ? l->marks[0].at : 0;
    int64_t to = l->count > 0 ? l->marks[l->count - 1].at : 0;
    /* the axis begins before the first mark and ends after the last one, so that no mark is on its
     * edge */
    int64_t margin = (to - from) / 40 + 1;
    struct fab_svg_scale s = {.times = fab_svg_times(from - margin, to + margin, 8),
                              .left = left_of(l),
                              .right = FAB_SVG_WIDTH - 2 * FAB_SVG_RIGHT};
    double bottom = lane_y((uint32_t)l->lane_count);
    struct fab_svg_legend legend = {.x = s.right, .y = FAB_SVG_HEAD + 12};
    fab_svg_head(t, (unsigned)bottom + FAB_SVG_FOOT, l->title, l->subtitle);
    fab_svg_time_axis(t, &s, lane_y(0), bottom, l->zone, true);
    for (uint32_t lane = 0; lane < l->lane_count; lane++)
        draw_lane(t, l, &s, lane);
    for (size_t i = 0; i < l->count; i++)
        draw_mark(t, l, &s, &l->marks[i]);
    for (size_t k = l->kind_count; k-- > 0;)
        fab_svg_legend_add(t, &legend, l->classes[k], l->kinds[k]);
    fab_svg_end(t);
    return t->status;
}
