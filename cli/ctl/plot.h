/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pictures of what commands print: the output format svg. A command with a picture sets the member
 * `picture` of its struct cmd, and, if the format is OUT_SVG, calls one of these functions instead
 * of printing. The functions return the exit code.
 */
#ifndef CLI_CTL_PLOT_H
#define CLI_CTL_PLOT_H

#include "cli/ctl/port_samples.h"
#include "fabric/v1/congestion.pb-c.h"
#include "fabric/v1/quality.pb-c.h"
#include "libfabmgr/svg/chart.h"

/* The samples of one port, or of both ends of a link. */
struct plot_port {
    const struct port_samples *samples[2]; /* samples[1] is NULL for one port */
    const char *name[2];                   /* names of the ports */
    /* If `counter` is not NULL, the picture shows only this error counter. Otherwise it shows only
     * the value `value`, or all values if `value` is SAMPLE_VALUES. */
    enum sample_value value;
    const char *counter;
};
int plot_samples(const struct plot_port *p);

int plot_congested(const Fabric__V1__ListCongestedPortsResponse *r);
int plot_quality(const Fabric__V1__GetQualityResponse *r);

#define PLOT_ENGINES 32
/* What the picture of `route compare` shows of an engine. The shares are between 0 and 1. The
 * shares and `all_to_all` are FAB_SVG_MISSING if the engine has no tables. */
struct plot_engine {
    char name[64];
    /* shares of the bandwidth that flows get in shift permutations, random permutations and
     * bisections */
    double shifts, random, bisection;
    /* load of the most loaded channel in all-to-all traffic, and the lower bound of this load for
     * any routing */
    double all_to_all, bound;
    const char *verdict;
};
int plot_engines(const struct plot_engine *engines, size_t count);

/* An entry of the history of an object. */
enum plot_kind { PLOT_CHANGE, PLOT_WARNING, PLOT_ERROR, PLOT_MANAGER, PLOT_PERSON, PLOT_KINDS };
struct plot_entry {
    const Google__Protobuf__Timestamp *time;
    const char *what; /* type of the event, or method of the audit record */
    const char *text;
    enum plot_kind kind;
};
/* Draws the history of an object. The entries must be in the order of time. */
int plot_history(const char *object, const struct plot_entry *entries, size_t count);

/* The next functions are for the files plot_*.c only. */

/* Prints the picture in *t, or an error if `status` is not OK, and frees *t. status: the result of
 * the function that wrote the picture to *t. */
int plot_put(struct fab_text *t, int status);
/* Returns a time in seconds since 1970, plus the offset of the local time zone from UTC at this
 * time. NULL stands for the beginning of 1970. */
int64_t plot_time(const Google__Protobuf__Timestamp *t);
/* Writes the offset of the local time zone from UTC at the time `t`, such as "UTC+01:00". */
void plot_zone(const Google__Protobuf__Timestamp *t, char text[SAMPLE_LEN]);

#endif
