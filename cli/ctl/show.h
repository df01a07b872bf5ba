/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts values of the API to text: states, rates, times. */
#ifndef CLI_CTL_SHOW_H
#define CLI_CTL_SHOW_H

#include "cli/ctl/output.h"
#include "fabric/v1/event.pb-c.h"
#include "fabric/v1/node.pb-c.h"
#include "fabric/v1/port.pb-c.h"
#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"

#define SHOW_LEN 96

const char *show_port_state(Fabric__V1__PortState state); /* "Active"; "?": unknown */
enum out_tone tone_port_state(Fabric__V1__PortState state);
const char *show_physical_state(Fabric__V1__PhysicalState state);
const char *show_node_type(const Fabric__V1__Node *node);
const char *show_severity(Fabric__V1__EventSeverity severity);
enum out_tone tone_severity(Fabric__V1__EventSeverity severity);

/* Writes a rate such as "4x EDR (100 Gb/s)"; "" for NULL. */
void show_rate(const Fabric__V1__LinkRate *rate, char text[SHOW_LEN]);
/* Writes a port such as "leaf-1/12"; "" for NULL. A name that is too long is cut. */
void show_port(const Fabric__V1__PortRef *port, char text[SHOW_LEN]);
/* show_time writes local time, such as "2026-11-20 11:32:50"; show_time_utc writes UTC, such as
 * "2026-11-20T11:32:50.123456Z". Both write "" for NULL. */
void show_time(const Google__Protobuf__Timestamp *t, char text[SHOW_LEN]);
void show_time_utc(const Google__Protobuf__Timestamp *t, char text[SHOW_LEN]);
/* Writes a duration such as "3 d 4 h" or "12.3 ms". */
void show_duration(uint64_t microseconds, char text[SHOW_LEN]);
uint64_t microseconds_of(const Google__Protobuf__Duration *d); /* 0 for NULL */

/* Write fields of a message of the API as they are, with the field names as keys. out_keys: only in
 * JSON; `names` are separated by spaces. out_fields: pairs of a name and a label, ended by NULL. */
void out_keys(struct out *o, const ProtobufCMessage *m, const char *names);
void out_fields(struct out *o, const ProtobufCMessage *m, ...) __attribute__((sentinel));

/* Write a port or a rate to a row or record. The keys of the port begin with prefix, such as
 * "from_". */
void out_port_keys(struct out *o, const char *prefix, const Fabric__V1__PortRef *port);
void out_rate_keys(struct out *o, const Fabric__V1__LinkRate *rate);
/* Write a value with the text of show_port, show_rate or show_time, only in text. */
void out_port(struct out *o, const char *label, const Fabric__V1__PortRef *port);
void out_rate(struct out *o, const char *label, const Fabric__V1__LinkRate *rate);
void out_time(struct out *o, const char *label, const Google__Protobuf__Timestamp *t);
/* Writes a value with the text of show_time_utc, only in JSON. */
void out_time_utc(struct out *o, const char *key, const Google__Protobuf__Timestamp *t);

/* Prints each line of a text, only in text output. */
void show_lines(struct out *o, const char *text);
/* Prints the rejected engines of a text such as "dor: no grid: ...; nue: ...", one on each line,
 * only in text output. */
void show_rejected_engines(struct out *o, const char *text);

#endif
