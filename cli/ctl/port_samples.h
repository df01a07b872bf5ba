/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of ports: requests for the history of a port, and the values of a sample. */
#ifndef CLI_CTL_PORT_SAMPLES_H
#define CLI_CTL_PORT_SAMPLES_H

#include "cli/ctl/cmd.h"
#include "cli/ctl/sparkline.h"
#include "fabric/v1/counters.pb-c.h"

/* The history of a port: the pages that the manager sent, and all samples in these pages. */
struct port_samples {
    Fabric__V1__GetPortHistoryResponse **page; /* [page_count] */
    size_t page_count;
    Fabric__V1__PortSample **sample; /* [count], oldest first */
    size_t count;
};
/* Requests the samples of a port for the time between --since and --until. Returns the exit
 * code. */
int fetch_samples(struct session *s, char *node, uint32_t port, struct port_samples *ret);
void free_samples(struct port_samples *p);

/* Parses the argument of --by: data, packets, wait or errors. If `by` is NULL, *ret does not
 * change. Returns the exit code. */
int parse_rank(const char *by, Fabric__V1__PortRank *ret);

/* The values that a sample can have. */
enum sample_value {
    SAMPLE_SENT,
    SAMPLE_RECEIVED,
    SAMPLE_SENT_PACKETS,
    SAMPLE_RECEIVED_PACKETS,
    SAMPLE_WAIT,
    SAMPLE_ERRORS,
    SAMPLE_DOWN,
    SAMPLE_FLAPS, /* increase of LinkDownedCounter */
    SAMPLE_VALUES
};
/* Returns a value of a sample; SPARKLINE_NONE: the sample does not have this value. */
uint64_t sample_value(const Fabric__V1__PortSample *m, enum sample_value which);
/* Returns the increase of an error counter; 0 if the sample does not have the counter. */
uint64_t sample_counter(const Fabric__V1__PortSample *m, const char *counter);

#define SAMPLE_LEN 40
/* Writes a value with its unit, such as "12.3 GB/s" or "4.5 %"; "-" if it is not known. */
void show_sample_value(enum sample_value which, uint64_t value, char text[SAMPLE_LEN]);
/* Writes the error counters of a sample, such as "SymbolErrorCounter 12, PortRcvErrors 3". */
void show_sample_errors(const Fabric__V1__PortSample *m, char *text, size_t len);
/* Writes the duration of a sample, such as "60 s", "15 min" or "1 d". */
void show_sample_time(uint32_t seconds, char text[SAMPLE_LEN]);

/* Writes all values of a sample; the JSON keys begin with `prefix`. Text output has none of
 * them. */
void out_sample_keys(struct out *o, const char *prefix, const Fabric__V1__PortSample *m);
/* Prints a chart of one value of all samples, in text output only. */
void say_chart(struct out *o, const char *label, const struct port_samples *p,
               enum sample_value which);

#endif
