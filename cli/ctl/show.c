/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts values of the API to text.
 */
#include "cli/ctl/show.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *word(const char *const *words, size_t count, int i)
{
    return i >= 0 && (size_t)i < count && words[i] != NULL ? words[i] : "?";
}
#define WORD(words, i) word(words, sizeof words / sizeof words[0], (int)(i))

const char *show_port_state(Fabric__V1__PortState state)
{
    static const char *const words[] = {NULL, "Down", "Init", "Armed", "Active"};
    return WORD(words, state);
}

enum out_tone tone_port_state(Fabric__V1__PortState state)
{
    static const enum out_tone tones[] = {OUT_WARN, OUT_DIM, OUT_WARN, OUT_WARN, OUT_GOOD};
    return (size_t)state < sizeof tones / sizeof tones[0] ? tones[state] : OUT_WARN;
}

const char *show_physical_state(Fabric__V1__PhysicalState state)
{
    static const char *const words[] = {NULL,       "Sleep",  "Polling",  "Disabled",
                                        "Training", "LinkUp", "Recovery", "PhyTest"};
    return WORD(words, state);
}

const char *show_node_type(const Fabric__V1__Node *node)
{
    static const char *const words[] = {NULL, "adapter", "switch", "router"};
    return node->aggregation_node ? "aggregation" : WORD(words, node->type);
}

const char *show_severity(Fabric__V1__EventSeverity severity)
{
    static const char *const words[] = {NULL, "debug", "info", "warning", "error"};
    return WORD(words, severity);
}

enum out_tone tone_severity(Fabric__V1__EventSeverity severity)
{
    static const enum out_tone tones[] = {OUT_PLAIN, OUT_DIM, OUT_PLAIN, OUT_WARN, OUT_BAD};
    return (size_t)severity < sizeof tones / sizeof tones[0] ? tones[severity] : OUT_PLAIN;
}

void show_rate(const Fabric__V1__LinkRate *rate, char text[SHOW_LEN])
{
    text[0] = '\0';
    if (rate == NULL)
        return;
    int n = snprintf(text, SHOW_LEN, "%ux %.20s", rate->width, rate->speed);
    if (rate->mbps % 1000 == 0)
        snprintf(text + n, SHOW_LEN - (size_t)n, " (%u Gb/s)", rate->mbps / 1000);
    else
        snprintf(text + n, SHOW_LEN - (size_t)n, " (%u.%u Gb/s)", rate->mbps / 1000,
                 rate->mbps % 1000 / 100);
}

/* Joins two short texts. */
static void join(char *to, const char *prefix, const char *name)
{
    strcpy(stpcpy(to, prefix), name);
}

void show_mode(const Fabric__V1__LinkRate *rate, char text[SHOW_LEN])
{
    text[0] = '\0';
    if (rate != NULL && rate->width < 10 && strlen(rate->speed) <= 20) {
        /* most widths have one digit; this is faster than snprintf */
        text[0] = (char)('0' + rate->width);
        join(text + 1, "x ", rate->speed);
    } else if (rate != NULL) {
        snprintf(text, SHOW_LEN, "%ux %.20s", rate->width, rate->speed);
    }
}

void show_port(const Fabric__V1__PortRef *port, char text[SHOW_LEN])
{
    text[0] = '\0';
    if (port == NULL)
        return;
    const char *name = port->node_name[0] != '\0' ? port->node_name : port->node_guid;
    snprintf(text, SHOW_LEN, "%.70s/%u", name, port->port_number);
}

void show_time(const Google__Protobuf__Timestamp *t, char text[SHOW_LEN])
{
    struct tm tm;
    time_t seconds = t != NULL ? (time_t)t->seconds : 0;
    text[0] = '\0';
    if (t != NULL && localtime_r(&seconds, &tm) != NULL)
        strftime(text, SHOW_LEN, "%Y-%m-%d %H:%M:%S", &tm);
}

void show_time_utc(const Google__Protobuf__Timestamp *t, char text[SHOW_LEN])
{
    struct tm tm;
    time_t seconds = t != NULL ? (time_t)t->seconds : 0;
    text[0] = '\0';
    if (t == NULL || gmtime_r(&seconds, &tm) == NULL)
        return;
    size_t n = strftime(text, SHOW_LEN, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + n, SHOW_LEN - n, ".%06dZ", t->nanos / 1000);
}

void show_words(char *const *words, size_t count, char text[SHOW_WORDS_LEN])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < SHOW_WORDS_LEN; i++)
        used += (size_t)snprintf(text + used, SHOW_WORDS_LEN - used, "%s%s", i > 0 ? ", " : "",
                                 words[i]);
}

uint64_t microseconds_of(const Google__Protobuf__Duration *d)
{
    if (d == NULL || d->seconds < 0 || d->nanos < 0)
        return 0;
    return (uint64_t)d->seconds * 1000000 + (uint64_t)d->nanos / 1000;
}

void show_duration(uint64_t us, char text[SHOW_LEN])
{
    static const struct {
        const char *unit, *next;
        uint64_t us, next_us;
    } units[] = {
        {"d", "h", 86400000000, 3600000000},
        {"h", "min", 3600000000, 60000000},
        {"min", "s", 60000000, 1000000},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (us >= units[i].us) {
            snprintf(text, SHOW_LEN, "%" PRIu64 " %s %" PRIu64 " %s", us / units[i].us,
                     units[i].unit, us % units[i].us / units[i].next_us, units[i].next);
            return;
        }
    }
    if (us >= 1000000)
        snprintf(text, SHOW_LEN, "%.2f s", (double)us / 1e6);
    else
        snprintf(text, SHOW_LEN, "%.*f ms", us < 10000 ? 2 : 1, (double)us / 1e3);
}

static void out_field(struct out *o, const ProtobufCMessage *m, const char *name, const char *label)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(m->descriptor, name);
    assert(f != NULL);
    const void *value = (const char *)m + f->offset;
    if (f->type == PROTOBUF_C_TYPE_STRING)
        out_text(o, name, label, OUT_PLAIN, *(char *const *)value);
    else if (f->type == PROTOBUF_C_TYPE_BOOL)
        out_bool(o, name, label, OUT_PLAIN, *(const protobuf_c_boolean *)value);
    else if (f->type == PROTOBUF_C_TYPE_UINT64)
        out_number(o, name, label, OUT_PLAIN, *(const uint64_t *)value);
    else
        out_number(o, name, label, OUT_PLAIN, *(const uint32_t *)value);
}

void out_keys(struct out *o, const ProtobufCMessage *m, const char *names)
{
    char name[64];
    while (out_wants_keys(o) && *names != '\0') {
        size_t len = strcspn(names, " ");
        assert(len > 0 && len < sizeof name);
        memcpy(name, names, len);
        name[len] = '\0';
        out_field(o, m, name, NULL);
        names += len + (names[len] == ' ');
    }
}

void out_fields(struct out *o, const ProtobufCMessage *m, ...)
{
    va_list ap;
    va_start(ap, m);
    for (const char *name; (name = va_arg(ap, const char *)) != NULL;)
        out_field(o, m, name, va_arg(ap, const char *));
    va_end(ap);
}

void out_port_keys(struct out *o, const char *prefix, const Fabric__V1__PortRef *port)
{
    char guid[32], name[32], number[32];
    if (!out_wants_keys(o))
        return;
    assert(strlen(prefix) < sizeof guid - sizeof "node_guid");
    join(guid, prefix, "node_guid");
    join(name, prefix, "node");
    join(number, prefix, "port");
    if (port == NULL) {
        out_none(o, name, NULL);
        return;
    }
    out_text(o, name, NULL, OUT_PLAIN, port->node_name);
    out_text(o, guid, NULL, OUT_PLAIN, port->node_guid);
    out_number(o, number, NULL, OUT_PLAIN, port->port_number);
}

void out_rate_keys(struct out *o, const Fabric__V1__LinkRate *rate)
{
    if (rate == NULL) {
        out_none(o, "rate_mbps", NULL);
        return;
    }
    out_number(o, "width", NULL, OUT_PLAIN, rate->width);
    out_text(o, "speed", NULL, OUT_PLAIN, rate->speed);
    out_number(o, "rate_mbps", NULL, OUT_PLAIN, rate->mbps);
}

static void out_mode_key(struct out *o, const char *prefix, const char *name,
                         const Fabric__V1__LinkRate *rate)
{
    char key[48], text[SHOW_LEN];
    assert(strlen(prefix) + strlen(name) < sizeof key);
    join(key, prefix, name);
    show_mode(rate, text);
    out_text(o, key, NULL, OUT_PLAIN, text);
}

void out_rates_keys(struct out *o, const char *prefix, const Fabric__V1__PortRates *rates)
{
    static const Fabric__V1__PortRates none = FABRIC__V1__PORT_RATES__INIT;
    if (!out_wants_keys(o))
        return;
    rates = rates != NULL ? rates : &none;
    out_mode_key(o, prefix, "supported", rates->supported);
    out_mode_key(o, prefix, "enabled", rates->enabled);
    out_mode_key(o, prefix, "active", rates->active);
}

void out_port(struct out *o, const char *label, const Fabric__V1__PortRef *port)
{
    char text[SHOW_LEN];
    if (!out_wants_labels(o))
        return;
    show_port(port, text);
    out_text(o, NULL, label, OUT_PLAIN, text);
}

void out_rate(struct out *o, const char *label, const Fabric__V1__LinkRate *rate)
{
    char text[SHOW_LEN];
    if (!out_wants_labels(o))
        return;
    show_rate(rate, text);
    out_text(o, NULL, label, OUT_PLAIN, text);
}

void out_time(struct out *o, const char *label, const Google__Protobuf__Timestamp *t)
{
    char text[SHOW_LEN];
    if (!out_wants_labels(o))
        return;
    show_time(t, text);
    out_text(o, NULL, label, OUT_PLAIN, text);
}

void out_time_utc(struct out *o, const char *key, const Google__Protobuf__Timestamp *t)
{
    char text[SHOW_LEN];
    if (!out_wants_keys(o))
        return;
    show_time_utc(t, text);
    out_text(o, key, NULL, OUT_PLAIN, text);
}

static void say_proof(struct out *o, const Fabric__V1__WholeProof *p)
{
    char at[SHOW_LEN], took[SHOW_LEN];
    show_time(p->time, at);
    show_duration(microseconds_of(p->duration), took);
    if (p->generation == 0)
        out_text(o, NULL, "Full proof", OUT_DIM, "not yet");
    else
        out_textf(o, "Full proof", OUT_PLAIN, "generation %" PRIu64 "%s%s, in %s%s%s",
                  p->generation, at[0] != '\0' ? " at " : "", at, took,
                  p->background ? ", in the background" : "",
                  p->due ? "; local repairs since, a background proof follows" : "");
    if (p->background_failures > 0)
        out_textf(o, "Refuted", OUT_BAD,
                  "%" PRIu64 " of %" PRIu64 " background proofs; see the events reproof-failed",
                  p->background_failures, p->background_proofs);
}

void out_proof(struct out *o, const Fabric__V1__WholeProof *p)
{
    static const Fabric__V1__WholeProof none = FABRIC__V1__WHOLE_PROOF__INIT;
    p = p != NULL ? p : &none;
    say_proof(o, p);
    out_number(o, "proof_generation", NULL, OUT_PLAIN, p->generation);
    if (p->generation != 0) {
        out_time_utc(o, "proof_at", p->time);
        out_millis(o, "proof_ms", NULL, OUT_PLAIN, microseconds_of(p->duration));
    } else {
        out_none(o, "proof_at", NULL);
        out_none(o, "proof_ms", NULL);
    }
    out_bool(o, "proof_in_background", NULL, OUT_PLAIN, p->background);
    out_bool(o, "proof_due", NULL, OUT_PLAIN, p->due);
    out_number(o, "background_proofs", NULL, OUT_PLAIN, p->background_proofs);
    out_number(o, "background_proof_failures", NULL, OUT_PLAIN, p->background_failures);
}

void show_lines(struct out *o, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        out_note(o, OUT_PLAIN, "%.*s", (int)(len < 500 ? len : 500), text);
        text += len + (text[len] == '\n' ? 1 : 0);
    }
}

/* Returns the length of the first "ENGINE: reason" in a text. A reason may contain semicolons: it
 * ends at a "; " before the next "ENGINE: ", or at the end of the text. */
static size_t reason_length(const char *text)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyz+";
    for (const char *end = strstr(text, "; "); end != NULL; end = strstr(end + 2, "; ")) {
        size_t len = strspn(end + 2, name);
        if (end[2] == '\0' || (len > 0 && strncmp(end + 2 + len, ": ", 2) == 0))
            return (size_t)(end - text);
    }
    return strlen(text);
}

void show_rejected_engines(struct out *o, const char *text)
{
    for (const char *label = "Passed over"; *text != '\0'; label = NULL) {
        size_t len = reason_length(text);
        if (label != NULL)
            out_textf(o, label, OUT_DIM, "%.*s", (int)len, text);
        else
            out_note(o, OUT_DIM, "%14s%.*s", "", (int)len, text);
        text += len + (text[len] == ';' ? 2 : 0);
    }
}

void say_message(struct out *o, const char *message)
{
    out_record(o, NULL);
    out_text(o, "message", NULL, OUT_PLAIN, message);
    out_note(o, OUT_PLAIN, "%s", message);
    out_record_end(o);
}
