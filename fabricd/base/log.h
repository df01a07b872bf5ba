/* SPDX-License-Identifier: BSD-3-Clause */
/* Logging: subject, what happened, key=value. To stderr, or the journal with priorities. */
#ifndef FABRICD_BASE_LOG_H
#define FABRICD_BASE_LOG_H

#include <stddef.h>

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
}; /* syslog's numbers */

/* Process-wide: set once at start. Under systemd (JOURNAL_STREAM) lines carry "<N>" prefixes;
 * else a time stamp. */
void log_init(enum log_level max);
enum log_level log_level(void);
/* subject: what it is about ("sm", "port leaf-1/12"); thread-safe, one line a call. */
void log_line(enum log_level level, const char *subject, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Copies text without anything that acts on a terminal or ends a line: such bytes become \xNN.
 * log_line does it by itself; this is for other places that show names of the wire. Returns the
 * bytes in ret (always NUL-terminated, whole characters only); a longer text is cut. */
size_t log_clean(const char *text, char *ret, size_t len);
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
