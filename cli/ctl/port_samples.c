/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/port_samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/show.h"
#include "cli/ctl/when.h"

#define PAGE 2000

/* ---- requests -------------------------------------------------------------------------------- */

static int add_page(struct port_samples *p, Fabric__V1__GetPortHistoryResponse *r)
{
    void *pages = reallocarray(p->page, p->page_count + 1, sizeof *p->page);
    if (pages != NULL)
        p->page = pages;
    void *samples = pages != NULL && r->n_samples > 0
                        ? reallocarray(p->sample, p->count + r->n_samples, sizeof *p->sample)
                        : p->sample;
    if (pages == NULL || (samples == NULL && r->n_samples > 0)) {
        free_reply(r);
        return complain(EXIT_FAILED, "out of memory");
    }
    p->page[p->page_count++] = r;
    p->sample = samples;
    for (size_t i = 0; i < r->n_samples; i++)
        p->sample[p->count++] = r->samples[i];
    return EXIT_OK;
}

int fetch_samples(struct session *s, char *node, uint32_t port, struct port_samples *ret)
{
    Fabric__V1__GetPortHistoryRequest q = FABRIC__V1__GET_PORT_HISTORY_REQUEST__INIT;
    Google__Protobuf__Timestamp times[2];
    q.node = node;
    q.port_number = port;
    q.samples = s->count;
    q.page_size = PAGE;
    int rc = when_option("--since", s->since, &times[0], &q.since);
    if (rc == EXIT_OK)
        rc = when_option("--until", s->until, &times[1], &q.until);
    while (rc == EXIT_OK) {
        Fabric__V1__GetPortHistoryResponse *r = NULL;
        rc = ask(s, "GetPortHistory", &q.base, &fabric__v1__get_port_history_response__descriptor,
                 &r);
        if (rc != EXIT_OK)
            break;
        q.page_token = r->next_page_token;
        rc = add_page(ret, r);
        if (rc == EXIT_OK && q.page_token[0] == '\0')
            break;
    }
    return rc;
}

void free_samples(struct port_samples *p)
{
    for (size_t i = 0; i < p->page_count; i++)
        free_reply(p->page[i]);
    free(p->page);
    free(p->sample);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

int parse_rank(const char *by, Fabric__V1__PortRank *ret)
{
    static const char *const names[] = {"data", "packets", "wait", "errors", NULL};
    size_t i = 0;
    int rc = by != NULL ? accept_word("--by", by, names, &i) : EXIT_OK;
    if (by != NULL && rc == EXIT_OK)
        *ret = (Fabric__V1__PortRank)(FABRIC__V1__PORT_RANK__PORT_RANK_DATA + i);
    return rc;
}

/* ---- values ---------------------------------------------------------------------------------- */

uint64_t sample_counter(const Fabric__V1__PortSample *m, const char *counter)
{
    for (size_t i = 0; i < m->n_errors; i++)
        if (strcmp(m->errors[i]->name, counter) == 0)
            return m->errors[i]->value;
    return 0;
}

uint64_t sample_value(const Fabric__V1__PortSample *m, enum sample_value which)
{
    switch (which) {
    case SAMPLE_SENT:
        return m->sent_known ? m->sent_bytes_per_second : SPARKLINE_NONE;
    case SAMPLE_RECEIVED:
        return m->received_known ? m->received_bytes_per_second : SPARKLINE_NONE;
    case SAMPLE_SENT_PACKETS:
        return m->sent_known ? m->sent_packets_per_second : SPARKLINE_NONE;
    case SAMPLE_RECEIVED_PACKETS:
        return m->received_known ? m->received_packets_per_second : SPARKLINE_NONE;
    case SAMPLE_WAIT:
        return m->wait_known ? m->wait_ppm : SPARKLINE_NONE;
    case SAMPLE_ERRORS:
        return m->error_sum;
    case SAMPLE_DOWN:
        return m->down_seconds;
    case SAMPLE_FLAPS:
    case SAMPLE_VALUES:
        break;
    }
    return sample_counter(m, "LinkDownedCounter");
}

/* Writes a number with three digits and a prefix of the SI, such as "12.3 G". */
static void show_scaled(uint64_t value, const char *unit, char text[SAMPLE_LEN])
{
    static const char prefixes[] = {'k', 'M', 'G', 'T', 'P', 'E'};
    double scaled = (double)value;
    int prefix = -1;
    while (scaled >= 999.5 && prefix < 5) {
        scaled /= 1000;
        prefix++;
    }
    if (prefix < 0)
        snprintf(text, SAMPLE_LEN, "%" PRIu64 " %s", value, unit);
    else
        snprintf(text, SAMPLE_LEN, "%.*f %c%s",
                 scaled < 9.995   ? 2
                 : scaled < 99.95 ? 1
                                  : 0,
                 scaled, prefixes[prefix], unit);
}

void show_sample_value(enum sample_value which, uint64_t value, char text[SAMPLE_LEN])
{
    if (value == SPARKLINE_NONE)
        snprintf(text, SAMPLE_LEN, "-");
    else if (which <= SAMPLE_RECEIVED)
        show_scaled(value, "B/s", text);
    else if (which <= SAMPLE_RECEIVED_PACKETS)
        show_scaled(value, "/s", text);
    else if (which == SAMPLE_WAIT)
        snprintf(text, SAMPLE_LEN, "%.1f %%", (double)value / 10000);
    else if (which == SAMPLE_DOWN && value > 0)
        snprintf(text, SAMPLE_LEN, "%" PRIu64 " s", value);
    else
        snprintf(text, SAMPLE_LEN, "%" PRIu64, value);
}

void show_sample_errors(const Fabric__V1__PortSample *m, char *text, size_t len)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < m->n_errors && at < len; i++)
        at += (size_t)snprintf(text + at, len - at, "%s%s %" PRIu64, i > 0 ? ", " : "",
                               m->errors[i]->name, m->errors[i]->value);
}

void show_sample_time(uint32_t seconds, char text[SAMPLE_LEN])
{
    if (seconds >= 86400)
        snprintf(text, SAMPLE_LEN, "%u d", (seconds + 43200) / 86400);
    else if (seconds >= 900)
        snprintf(text, SAMPLE_LEN, "%u min", (seconds + 30) / 60);
    else
        snprintf(text, SAMPLE_LEN, "%u s", seconds);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void key_number(struct out *o, const char *prefix, const char *name, bool known,
                       uint64_t value)
{
    char key[SHOW_LEN];
    snprintf(key, sizeof key, "%s%s", prefix, name);
    if (known)
        out_number(o, key, NULL, OUT_PLAIN, value);
    else
        out_none(o, key, NULL);
}

static void key_list(struct out *o, const char *prefix, const Fabric__V1__PortSample *m)
{
    char key[SHOW_LEN];
    snprintf(key, sizeof key, "%serrors", prefix);
    out_record(o, key);
    for (size_t i = 0; i < m->n_errors; i++)
        out_number(o, m->errors[i]->name, NULL, OUT_PLAIN, m->errors[i]->value);
    out_record_end(o);
    snprintf(key, sizeof key, "%svl_wait_ppm", prefix);
    out_record(o, key);
    for (size_t i = 0; i < m->n_virtual_lane_waits; i++) {
        char vl[16];
        snprintf(vl, sizeof vl, "%u", m->virtual_lane_waits[i]->virtual_lane);
        out_number(o, vl, NULL, OUT_PLAIN, m->virtual_lane_waits[i]->wait_ppm);
    }
    out_record_end(o);
}

void out_sample_keys(struct out *o, const char *prefix, const Fabric__V1__PortSample *m)
{
    static const Fabric__V1__PortSample none = FABRIC__V1__PORT_SAMPLE__INIT;
    m = m != NULL ? m : &none;
    key_number(o, prefix, "sent_bytes_per_second", m->sent_known, m->sent_bytes_per_second);
    key_number(o, prefix, "received_bytes_per_second", m->received_known,
               m->received_bytes_per_second);
    key_number(o, prefix, "sent_packets_per_second", m->sent_known, m->sent_packets_per_second);
    key_number(o, prefix, "received_packets_per_second", m->received_known,
               m->received_packets_per_second);
    key_number(o, prefix, "wait_ppm", m->wait_known, m->wait_ppm);
    key_number(o, prefix, "peak_sent_bytes_per_second", m->peak_sent_bytes_per_second > 0,
               m->peak_sent_bytes_per_second);
    key_number(o, prefix, "peak_received_bytes_per_second", m->peak_received_bytes_per_second > 0,
               m->peak_received_bytes_per_second);
    key_number(o, prefix, "peak_wait_ppm", m->peak_wait_ppm > 0, m->peak_wait_ppm);
    key_number(o, prefix, "error_sum", true, m->error_sum);
    key_number(o, prefix, "down_seconds", true, m->down_seconds);
    key_list(o, prefix, m);
}

void say_chart(struct out *o, const char *label, const struct port_samples *p,
               enum sample_value which)
{
    uint64_t *values = calloc(p->count > 0 ? p->count : 1, sizeof *values);
    uint64_t most = 0;
    char chart[SPARKLINE_LEN], text[SAMPLE_LEN];
    for (size_t i = 0; values != NULL && i < p->count; i++) {
        values[i] = sample_value(p->sample[i], which);
        if (values[i] != SPARKLINE_NONE && values[i] > most)
            most = values[i];
    }
    if (values != NULL) {
        sparkline(values, p->count, most, chart);
        show_sample_value(which, most, text);
        out_textf(o, label, OUT_PLAIN, "%s  at most %s", chart, text);
    }
    free(values);
}
