/* SPDX-License-Identifier: BSD-3-Clause */
/* Logging to stderr, which under systemd is the journal. A line has a subject and a message. */
#ifndef FABRICD_BASE_LOG_H
#define FABRICD_BASE_LOG_H

#include <stddef.h>

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
}; /* the priorities of syslog */

/* Sets the level for the whole process, at start and on reload. If stderr is the journal
 * (JOURNAL_STREAM), lines start with a "<N>" priority, otherwise with a time stamp. */
void log_init(enum log_level max);
enum log_level log_level(void);
/* Writes one line; any thread may call it. subject: what the line is about ("sm", "port
 * leaf-1/12"). */
void log_line(enum log_level level, const char *subject, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Copies text with every byte that could control a terminal or end a line replaced by \xNN.
 * log_line does this itself; other code that shows names from the fabric calls this function.
 * Returns the number of bytes in ret, which is NUL-terminated; longer text is cut between
 * characters. */
size_t log_clean(const char *text, char *ret, size_t len);
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
