/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture of `history`: a time line with one lane for each type of event. */
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/plot.h"
#include "cli/ctl/show.h"

#define LANES 40
#define NOTE_LEN 360

/* Returns the lane for a type of event. A new type gets the next lane. If all LANES lanes are
 * taken, further types share the last lane. */
static uint32_t lane_of(const char **lanes, size_t *count, const char *what)
{
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp(lanes[i], what) == 0)
            return i;
    if (*count == LANES) {
        lanes[LANES - 1] = "other types";
        return LANES - 1;
    }
    lanes[*count] = what;
    return (uint32_t)(*count)++;
}

static void show_note(const struct plot_entry *e, char text[NOTE_LEN])
{
    char at[SHOW_LEN];
    show_time(e->time, at);
    snprintf(text, NOTE_LEN, "%s %.60s: %.180s", at, e->what, e->text);
}

static int draw(const char *object, struct fab_svg_timeline *l, const struct plot_entry *entries)
{
    static const char *const kinds[PLOT_KINDS] = {"change", "warning", "error", "manager",
                                                  "person"};
    static const char *const classes[PLOT_KINDS] = {"f0", "warn", "bad", "good", "f3"};
    char title[2 * SHOW_LEN], subtitle[80], zone[SAMPLE_LEN];
    struct fab_text t = {0};
    snprintf(title, sizeof title, "History of %.150s", object);
    snprintf(subtitle, sizeof subtitle, "%zu entries of %zu types", l->count, l->lane_count);
    plot_zone(entries[0].time, zone);
    l->title = title;
    l->subtitle = subtitle;
    l->zone = zone;
    l->kinds = kinds;
    l->classes = classes;
    l->kind_count = PLOT_KINDS;
    return plot_put(&t, fab_svg_write_timeline(l, &t));
}

int plot_history(const char *object, const struct plot_entry *entries, size_t count)
{
    const char *lanes[LANES];
    struct fab_svg_timeline l = {.lanes = lanes, .count = count};
    if (count == 0)
        return complain(EXIT_NOT_FOUND,
                        "nothing is recorded about %s in this time, so there is nothing to draw",
                        object);
    struct fab_svg_mark *marks = calloc(count, sizeof *marks);
    char(*notes)[NOTE_LEN] = calloc(count, sizeof *notes);
    for (size_t i = 0; marks != NULL && notes != NULL && i < count; i++) {
        show_note(&entries[i], notes[i]);
        marks[i] = (struct fab_svg_mark){.at = plot_time(entries[i].time),
                                         .lane = lane_of(lanes, &l.lane_count, entries[i].what),
                                         .kind = entries[i].kind,
                                         .note = notes[i]};
    }
    l.marks = marks;
    int rc = marks != NULL && notes != NULL ? draw(object, &l, entries)
                                            : complain(EXIT_FAILED, "out of memory");
    free(marks);
    free(notes);
    return rc;
}
