/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the times and ages that users type. */
#include "cli/ctl/when.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/cmd.h"

bool when_age(const char *text, uint64_t *ret_seconds)
{
    static const struct {
        char unit;
        unsigned seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (text[0] < '0' || text[0] > '9' || n > 1000000 || end[0] != units[i].unit ||
            end[1] != '\0')
            continue;
        *ret_seconds = (uint64_t)n * units[i].seconds;
        return true;
    }
    return false;
}

/* Reads "today" and "yesterday". Uses local days, which have 23 or 25 hours when daylight saving
 * time begins or ends. */
static bool read_day(const char *text, time_t now, time_t *ret)
{
    struct tm tm;
    int back = strcmp(text, "today") == 0 ? 0 : strcmp(text, "yesterday") == 0 ? 1 : -1;
    if (back < 0 || localtime_r(&now, &tm) == NULL)
        return false;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_mday -= back;
    tm.tm_isdst = -1;
    *ret = mktime(&tm);
    return true;
}

/* Reads the time zone after a time of day: nothing, "Z", or an offset such as "+01:00". *ret_utc:
 * true: the time of day is not local time, but *ret_offset seconds ahead of UTC. */
static bool read_zone(const char *text, bool *ret_utc, long *ret_offset)
{
    unsigned hours, minutes;
    int used = 0;
    *ret_utc = text[0] != '\0';
    *ret_offset = 0;
    if (text[0] == '\0' || ((text[0] == 'Z' || text[0] == 'z') && text[1] == '\0'))
        return true;
    if ((text[0] != '+' && text[0] != '-') || strspn(text + 1, "0123456789:") != 5 ||
        sscanf(text + 1, "%2u:%2u%n", &hours, &minutes, &used) != 2 || used != 5 ||
        text[6] != '\0' || hours > 14 || minutes > 59)
        return false;
    *ret_offset = (text[0] == '-' ? -60L : 60L) * (long)(hours * 60 + minutes);
    return true;
}

static bool read_date(const char *text, time_t *ret)
{
    static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S",
                                          "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct tm tm = {.tm_isdst = -1};
        const char *end = strptime(text, formats[i], &tm);
        long offset;
        bool utc;
        /* a fraction of a second is ignored */
        if (end != NULL && *end == '.' && i > 1)
            end += 1 + strspn(end + 1, "0123456789");
        if (end == NULL || !read_zone(end, &utc, &offset))
            continue;
        *ret = utc ? timegm(&tm) - offset : mktime(&tm);
        return *ret >= 0;
    }
    return false;
}

bool when_time(const char *text, time_t now, time_t *ret)
{
    uint64_t age = 0;
    if (!when_age(text, &age) && strcmp(text, "now") != 0)
        return read_day(text, now, ret) || read_date(text, ret);
    *ret = now > (time_t)age ? now - (time_t)age : 0;
    return true;
}

int when_option(const char *option, const char *text, Google__Protobuf__Timestamp *room,
                Google__Protobuf__Timestamp **ret)
{
    time_t seconds = 0;
    if (text == NULL)
        return EXIT_OK;
    if (!when_time(text, time(NULL), &seconds))
        return complain(EXIT_USAGE,
                        "%s \"%s\": an age such as 2h or 7d, yesterday, today, or a time such as "
                        "2026-11-23 or 2026-11-23T21:00:00Z is expected",
                        option, text);
    google__protobuf__timestamp__init(room);
    room->seconds = seconds;
    *ret = room;
    return EXIT_OK;
}
