/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the times and ages that users type. */
#ifndef CLI_CTL_WHEN_H
#define CLI_CTL_WHEN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "google/protobuf/timestamp.pb-c.h"

/* Reads an age such as "90s", "2h" or "7d". Returns false if the text is not an age. */
bool when_age(const char *text, uint64_t *ret_seconds);
/* Reads a time: an age before `now`; "now", "today" or "yesterday" (the beginning of that local
 * day); a date with or without a time of day; or a time in the form of RFC 3339. Times are local
 * unless they end in Z or in an offset such as +01:00. Returns false if the text is none of
 * these. */
bool when_time(const char *text, time_t now, time_t *ret);
/* Reads the argument of an option with when_time. If text is NULL, the option was not given, and
 * *ret stays unchanged. Otherwise stores the time in *room, and sets *ret to `room`. If an error
 * occurs, prints it. Returns the exit code. */
int when_option(const char *option, const char *text, Google__Protobuf__Timestamp *room,
                Google__Protobuf__Timestamp **ret);

#endif
