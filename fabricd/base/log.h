/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the log to stderr, which under systemd is the journal. A line has a subject and a
 * message. */
#ifndef FABRICD_BASE_LOG_H
#define FABRICD_BASE_LOG_H

#include <stddef.h>

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
}; /* the values are the priorities of syslog */

/* Sets the log level of the process, at start and on reload. If stderr is the journal
 * (JOURNAL_STREAM), lines begin with a priority "<N>", otherwise with a time stamp. */
void log_init(enum log_level max);
/* Like log_init, but for a command that a person starts at a terminal. Only warnings and errors are
 * logged, and log_record writes only to the journal of systemd, if there is one. */
void log_init_command(void);
enum log_level log_level(void);
/* Writes one line. Any thread may call this function. `subject` names the object of the message,
 * for example "sm" or "port leaf-1/12". */
void log_line(enum log_level level, const char *subject, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes one line with level notice, even if the log level would suppress it. The audit log uses
 * this function. */
void log_always(const char *subject, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A field of a journal entry, which `journalctl -o json` shows. The name must be upper case. */
struct log_field {
    const char *name, *value;
};
/* Like log_always, but adds fields[count] to the journal entry if stderr is the journal of systemd.
 * After log_init_command, the line is never printed on the terminal: it goes to the journal or, if
 * the machine has none, is lost. */
void log_record(const char *subject, const struct log_field *fields, size_t count,
                const char *message);
/* Copies a text to ret[], with \xNN in place of each byte that could control a terminal or end a
 * line. log_line does this itself. Other code that shows names from the fabric must call this
 * function. A text that is too long is cut after a whole character. Returns the number of bytes in
 * ret[], which is NUL-terminated. */
size_t log_clean(const char *text, char *ret, size_t len);
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
