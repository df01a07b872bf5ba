/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/svg/frame.h"

#include <stdio.h>
#include <string.h>

#define LETTER 6.0 /* mean width of a letter in pixels */

void fab_svg_head(struct fab_text *t, unsigned height, const char *title, const char *subtitle)
{
    fab_svg_begin(t, FAB_SVG_WIDTH, height, title, NULL);
    fab_base_text_add(t, "<text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"bold\">");
    fab_svg_add_escaped(t, title);
    fab_base_text_add(t, "</text>\n");
    fab_svg_put(t, 16, 42, "start", "dim", subtitle);
}

void fab_svg_put(struct fab_text *t, double x, double y, const char *anchor, const char *class,
                 const char *text)
{
    fab_base_text_addf(t, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y, anchor);
    if (class != NULL)
        fab_base_text_addf(t, " class=\"%s\"", class);
    fab_base_text_add(t, ">");
    fab_svg_add_escaped(t, text);
    fab_base_text_add(t, "</text>\n");
}

void fab_svg_panel_title(struct fab_text *t, double x, double y, const char *title,
                         const char *prefix, const char *unit)
{
    fab_base_text_addf(t, "<text x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\">", x, y);
    fab_svg_add_escaped(t, title);
    if (prefix[0] != '\0' || unit[0] != '\0') {
        fab_base_text_add(t, "<tspan class=\"dim\" font-weight=\"normal\">, ");
        fab_svg_add_escaped(t, prefix);
        fab_svg_add_escaped(t, unit);
        fab_base_text_add(t, "</tspan>");
    }
    fab_base_text_add(t, "</text>\n");
}

static size_t letters(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void fab_svg_legend_add(struct fab_text *t, struct fab_svg_legend *l, const char *class,
                        const char *name)
{
    double text = l->x - LETTER * (double)letters(name), box = text - 16;
    fab_svg_put(t, text, l->y, "start", NULL, name);
    if (strcmp(class, "limit") == 0)
        fab_base_text_addf(t, "<path class=\"limit\" d=\"M%.1f %.1fh12\"/>\n", box, l->y - 4);
    else if (strcmp(class, "mark") == 0)
        fab_base_text_addf(t, "<path class=\"mark\" d=\"M%.1f %.1fv10\"/>\n", box + 8, l->y - 9);
    else
        fab_base_text_addf(
            t, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"9\" rx=\"2\"/>\n",
            class, box, l->y - 8);
    l->x = box - 14;
}

double fab_svg_x(const struct fab_svg_scale *s, int64_t at)
{
    const struct fab_svg_times *t = &s->times;
    at = at < t->from ? t->from : at > t->to ? t->to : at;
    return s->left + (s->right - s->left) * (double)(at - t->from) / (double)(t->to - t->from);
}

void fab_svg_time_axis(struct fab_text *t, const struct fab_svg_scale *s, double top, double bottom,
                       const char *zone, bool labels)
{
    char text[FAB_SVG_LABEL];
    for (int64_t at = s->times.first; at <= s->times.to; at += s->times.step) {
        double x = fab_svg_x(s, at);
        fab_base_text_addf(t, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x, top, bottom);
        fab_svg_time_label(&s->times, at, text);
        if (labels && x > s->left + 30 && x < s->right - 12)
            fab_svg_put(t, x, bottom + 15, "middle", NULL, text);
    }
    if (!labels)
        return;
    fab_svg_date(s->times.from, text);
    fab_svg_put(t, s->left, bottom + 30, "start", "dim", text);
    fab_svg_date(s->times.to, text);
    fab_svg_put(t, s->right, bottom + 30, "end", "dim", text);
    fab_svg_put(t, (s->left + s->right) / 2, bottom + 30, "middle", "dim", zone);
}
