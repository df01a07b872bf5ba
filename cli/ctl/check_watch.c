/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows the progress of a bring-up: how many of the planned links of each rack are up, when all
 * links will be up at the pace of the last ten minutes, and the wrong cables. The output does not
 * list links that are not up yet, because they are no fault during a bring-up. */
#include "cli/ctl/check_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/ctl/cabling.h"
#include "cli/ctl/show_cabling.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/progress.h"

#define INTERVAL_S 5
/* an update lists at most this many differences, and at most this many moves */
#define LISTED 15
#define BAR 30

struct watching {
    struct session *s;
    const struct fab_cabling_plan *plan;
    struct fab_cabling_estimate estimate;
    bool clear; /* true: the output is text on a terminal, and each update replaces the one
                 * before */
    bool done;  /* true: the fabric is as planned */
};

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- progress -------------------------------------------------------------------------------- */

static const struct out_column columns[] = {
    {"rack", "RACK", false},
    {"correct", "UP", true},
    {"planned", "PLANNED", true},
    {NULL, "PROGRESS", false},
};

static void say_rack(struct out *o, const struct fab_cabling_progress *p)
{
    char bar[BAR + 1];
    unsigned full = (unsigned)((uint64_t)p->correct * BAR / p->planned);
    for (unsigned i = 0; i < BAR; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR] = '\0';
    out_row(o);
    out_text(o, "rack", "RACK", OUT_PLAIN, p->rack);
    out_number(o, "correct", "UP", OUT_PLAIN, p->correct);
    out_number(o, "planned", "PLANNED", OUT_PLAIN, p->planned);
    out_text(o, NULL, "PROGRESS", p->correct == p->planned ? OUT_GOOD : OUT_WARN, bar);
    out_row_end(o);
}

static int say_racks(struct out *o, const struct fab_cabling_check *c)
{
    struct fab_cabling_progress *racks = NULL;
    size_t count = 0;
    int rc = fab_cabling_progress(c, &racks, &count);
    if (rc != FAB_OK)
        return rc;
    bool known = count > 1 || (count == 1 && racks[0].rack[0] != '\0');
    if (known)
        out_note(o, OUT_PLAIN, "%s", "");
    out_table(o, "racks", columns, known ? sizeof columns / sizeof *columns : 0, false);
    for (size_t i = 0; i < count && known; i++)
        say_rack(o, &racks[i]);
    out_table_end(o);
    free(racks);
    return FAB_OK;
}

/* Writes an estimated duration, such as "40 s" or "12 min". */
static void show_rough(uint64_t seconds, char text[32])
{
    if (seconds < 120)
        snprintf(text, 32, "%" PRIu64 " s", seconds);
    else if (seconds < 7200)
        snprintf(text, 32, "%" PRIu64 " min", (seconds + 30) / 60);
    else
        snprintf(text, 32, "%" PRIu64 " h", (seconds + 1800) / 3600);
}

/* Prints the number of links that are up, and when all planned links will be up. */
static void say_links(struct watching *w, const struct fab_cabling_check *c)
{
    struct out *o = w->s->out;
    uint32_t planned = w->plan->link_count, left = planned - c->correct;
    double rate = fab_cabling_estimate_rate(&w->estimate);
    uint64_t seconds = rate > 0 ? (uint64_t)((double)left * 60 / rate) + 1 : 0;
    char when[32], text[80] = "";
    show_rough(seconds, when);
    if (left > 0 && rate > 0)
        snprintf(text, sizeof text, "; %.1f a minute, about %s left", rate, when);
    out_textf(o, "Links", left == 0 ? OUT_GOOD : OUT_WARN,
              "%" PRIu32 " of %" PRIu32 " planned links are up and as planned (%" PRIu64 " %%)%s",
              c->correct, planned, planned > 0 ? (uint64_t)c->correct * 100 / planned : 100, text);
    out_number(o, "planned_links", NULL, OUT_PLAIN, planned);
    out_number(o, "correct_links", NULL, OUT_PLAIN, c->correct);
    out_real(o, "links_per_minute", NULL, OUT_PLAIN, rate, 1);
    if (left > 0 && rate <= 0)
        out_none(o, "left_s", NULL);
    else
        out_number(o, "left_s", NULL, OUT_PLAIN, left > 0 ? seconds : 0);
}

static int say_check(struct watching *w, const struct fab_cabling_check *c)
{
    struct out *o = w->s->out;
    uint32_t absent = c->matched[FAB_CABLING_UNMATCHED], planned = w->plan->node_count;
    fab_cabling_estimate_add(&w->estimate, now_us(), c->correct);
    out_record(o, NULL);
    out_textf(o, "Nodes", absent == 0 ? OUT_GOOD : OUT_WARN,
              "%" PRIu32 " of %" PRIu32 " planned nodes are in the fabric", planned - absent,
              planned);
    out_number(o, "planned_nodes", NULL, OUT_PLAIN, planned);
    out_number(o, "present_nodes", NULL, OUT_PLAIN, planned - absent);
    say_links(w, c);
    int rc = say_racks(o, c);
    show_cabling_lists(o, c, false, w->s->out_format == OUT_TEXT ? LISTED : 0);
    out_record_end(o);
    return rc;
}

/* ---- loop ------------------------------------------------------------------------------------ */

static int show_fabric(struct watching *w, const struct fab_fabric *fabric)
{
    struct fab_cabling_check *c = NULL;
    int status = fab_cabling_compare(w->plan, fabric, &c);
    if (status == FAB_OK)
        status = say_check(w, c);
    w->done = status == FAB_OK && c->difference_count == 0;
    fab_cabling_check_free(c);
    return status == FAB_OK ? EXIT_OK : complain(EXIT_FAILED, "%s", fab_base_status_text(status));
}

/* Prints one update. It is not an error if the manager has no view of the fabric yet. */
static int show_once(struct watching *w)
{
    struct fab_fabric *fabric = NULL;
    struct fab_client_error error;
    int rc = fetch_fabric(w->s, &fabric, &error);
    if (rc != EXIT_OK && error.code != FAB_GRPC_FAILED_PRECONDITION)
        return say_error(&error);
    if (w->clear)
        fputs("\033[H\033[J", stdout);
    if (rc != EXIT_OK) {
        out_note(w->s->out, OUT_WARN, "%s", error.message);
        return EXIT_OK;
    }
    rc = show_fabric(w, fabric);
    fab_fabric_unref(fabric);
    return rc;
}

int watch_cabling(struct session *s, const struct fab_cabling_plan *plan)
{
    struct watching w = {
        .s = s, .plan = plan, .clear = s->out_format == OUT_TEXT && isatty(STDOUT_FILENO)};
    for (uint32_t i = 1;; i++) {
        if (i > 1)
            out_note(s->out, OUT_PLAIN, "%s", "");
        int rc = show_once(&w);
        if (rc != EXIT_OK || w.done || out_broken(s->out))
            return rc;
        if (s->count > 0 && i == s->count)
            return EXIT_UNSOUND;
        fflush(stdout);
        sleep(INTERVAL_S);
    }
}
