/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts values of the API to text: states, rates, times. */
#ifndef CLI_CTL_SHOW_H
#define CLI_CTL_SHOW_H

#include "cli/ctl/output.h"
#include "fabric/v1/event.pb-c.h"
#include "fabric/v1/node.pb-c.h"
#include "fabric/v1/port.pb-c.h"
#include "fabric/v1/route.pb-c.h"
#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"

#define SHOW_LEN 96

/* Returns the name of a port state, such as "Active"; "?" if the state is unknown. */
const char *show_port_state(Fabric__V1__PortState state);
enum out_tone tone_port_state(Fabric__V1__PortState state);
const char *show_physical_state(Fabric__V1__PhysicalState state);
const char *show_node_type(const Fabric__V1__Node *node);
const char *show_severity(Fabric__V1__EventSeverity severity);
enum out_tone tone_severity(Fabric__V1__EventSeverity severity);

/* Writes a rate such as "4x EDR (100 Gb/s)". Writes "" if `rate` is NULL. */
void show_rate(const Fabric__V1__LinkRate *rate, char text[SHOW_LEN]);
/* Writes a port such as "leaf-1/12". Writes "" if `port` is NULL. A name that is too long is
 * truncated. */
void show_port(const Fabric__V1__PortRef *port, char text[SHOW_LEN]);
/* show_time writes local time, such as "2026-11-20 11:32:50"; show_time_utc writes UTC, such as
 * "2026-11-20T11:32:50.123456Z". Both write "" for NULL. */
void show_time(const Google__Protobuf__Timestamp *t, char text[SHOW_LEN]);
void show_time_utc(const Google__Protobuf__Timestamp *t, char text[SHOW_LEN]);
/* Writes a duration such as "3 d 4 h" or "12.3 ms". */
void show_duration(uint64_t microseconds, char text[SHOW_LEN]);
/* size of the text of show_words, which joins words with ", " and truncates the text */
#define SHOW_WORDS_LEN 200
void show_words(char *const *words, size_t count, char text[SHOW_WORDS_LEN]);
uint64_t microseconds_of(const Google__Protobuf__Duration *d); /* returns 0 if d is NULL */

/* The next functions write fields of an API message without changes, with the field names as keys.
 * out_keys writes to JSON only; `names` has the field names, separated by spaces. The arguments of
 * out_fields are pairs of a field name and a label, followed by NULL. */
void out_keys(struct out *o, const ProtobufCMessage *m, const char *names);
void out_fields(struct out *o, const ProtobufCMessage *m, ...) __attribute__((sentinel));

/* The next functions write a port or a rate to a row or record, in JSON output only. The keys of
 * the port begin with `prefix`, such as "from_". */
void out_port_keys(struct out *o, const char *prefix, const Fabric__V1__PortRef *port);
void out_rate_keys(struct out *o, const Fabric__V1__LinkRate *rate);
/* Writes the supported, enabled and active rate of a port, in JSON output only. The keys begin with
 * `prefix`. */
void out_rates_keys(struct out *o, const char *prefix, const Fabric__V1__PortRates *rates);
/* Writes a rate without its unit, such as "4x EDR". Writes "" if `rate` is NULL. */
void show_mode(const Fabric__V1__LinkRate *rate, char text[SHOW_LEN]);
/* The next functions write a port, a rate or a time as show_port, show_rate and show_time format
 * it, in text output only. */
void out_port(struct out *o, const char *label, const Fabric__V1__PortRef *port);
void out_rate(struct out *o, const char *label, const Fabric__V1__LinkRate *rate);
void out_time(struct out *o, const char *label, const Google__Protobuf__Timestamp *t);
/* Writes a time as show_time_utc formats it, in JSON output only. */
void out_time_utc(struct out *o, const char *key, const Google__Protobuf__Timestamp *t);

/* Writes when and in which generation all tables were last proved, and the numbers of background
 * proofs. `p` may be NULL. */
void out_proof(struct out *o, const Fabric__V1__WholeProof *p);

/* Prints `message`, in which the manager says what it did or would do. */
void say_message(struct out *o, const char *message);
/* Prints a text of one or several lines, in text output only. Lines are cut at 500 bytes. */
void show_lines(struct out *o, const char *text);
/* Prints the rejected engines, one on each line, in text output only. `text` has the form "dor: no
 * grid: ...; nue: ...". */
void show_rejected_engines(struct out *o, const char *text);

#endif
