/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log. Each call writes one line with a single write(2), so that lines of different threads do
 * not mix.
 *
 * If stderr is the journal of systemd, a line begins with its priority as "<N>", which journald
 * removes (sd-daemon(3)). Otherwise the line begins with the time in UTC and the level. In both
 * cases, "subject: message" follows.
 *
 * Names come from the fabric, and a NodeDescription can be any 64 bytes. So control characters,
 * bytes that are not UTF-8, and characters that reorder or break lines are written as \xNN.
 *
 * `state` is mutable static data. Every file may write to the log, and a log parameter in every
 * function would make the code harder to read. Only the loop thread sets `state`, at start and on
 * reload.
 */
#include "fabricd/base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

/* maximum length in bytes of a line of the log, with prefix and newline */
#define LINE_MAX_BYTES 4096

static struct {
    enum log_level max;
    bool journal;
    bool command; /* true: log_init_command was called */
} state = {LOG_LEVEL_INFO, false, false};

/* Returns true if stderr is the journal of systemd. JOURNAL_STREAM has the device and the inode of
 * the stream to journald. A shell may have redirected stderr to a file without a change of
 * JOURNAL_STREAM, so the function compares the device and the inode with those of stderr. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;
    if (stream == NULL || sscanf(stream, "%llu:%llu", &device, &inode) != 2)
        return false;
    return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_init(enum log_level max)
{
    state.max = max;
    state.journal = stderr_is_journal();
}

void log_init_command(void)
{
    log_init(LOG_LEVEL_WARNING);
    state.command = true;
}

enum log_level log_level(void)
{
    return state.max;
}

/* ---- escaping text from the fabric ---- */

/* Returns the length of the UTF-8 sequence at `s`, and its code point in *ret_code. Returns 0 if
 * the bytes are not valid UTF-8. */
static size_t utf8_sequence(const unsigned char *s, uint32_t *ret_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    uint32_t code = s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        /* the byte does not continue the sequence; it may be the NUL at the end of the text */
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *ret_code = code;
    return len;
}

/* Returns true if this character may change how a terminal shows text. Such characters are C1
 * controls, zero-width and direction marks, line and paragraph separators, and the byte order mark.
 */
static bool acts_on_terminals(uint32_t code)
{
    return code < 0xa0 || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           code == 0xfeff;
}

/*
 * Returns the length in bytes of the character at `s` if it can be written unchanged; 0: its first
 * byte must be written as \xNN.
 */
static size_t printable(const unsigned char *s)
{
    uint32_t code = 0;
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f;
    size_t len = utf8_sequence(s, &code);
    return len > 0 && !acts_on_terminals(code) ? len : 0;
}

size_t log_clean(const char *text, char *ret, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *s = (const unsigned char *)text;
    size_t used = 0;
    while (*s != '\0') {
        size_t n = printable(s);
        size_t needs = n > 0 ? n : 4;
        if (used + needs + 1 > len)
            break;
        if (n > 0) {
            memcpy(ret + used, s, n);
        } else {
            const char escape[4] = {'\\', 'x', hex[*s >> 4], hex[*s & 15]};
            memcpy(ret + used, escape, sizeof(escape));
        }
        used += needs;
        s += n > 0 ? n : 1;
    }
    if (len > 0)
        ret[used] = '\0';
    return used;
}

/* ---- the line ---- */

static size_t put_prefix(char *line, size_t len, enum log_level level)
{
    static const char *const words[] = {"error", "warning", "notice", "info", "debug"};
    struct timespec now = {0};
    struct tm utc;
    char seconds[32] = "";
    if (state.journal)
        return (size_t)snprintf(line, len, "<%d>", (int)level);
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc) != NULL)
        strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc);
    int word = (int)level - LOG_LEVEL_ERROR;
    const char *name = word >= 0 && word <= 4 ? words[word] : "error";
    return (size_t)snprintf(line, len, "%s.%03dZ %-7s ", seconds, (int)(now.tv_nsec / 1000000),
                            name);
}

static void write_line(enum log_level level, const char *subject, const char *fmt, va_list args)
{
    char message[LINE_MAX_BYTES / 2];
    char line[LINE_MAX_BYTES];
    int wanted = vsnprintf(message, sizeof(message), fmt, args);
    size_t room = sizeof(line) - sizeof(" ...\n");
    size_t used = put_prefix(line, room, level);
    used += log_clean(subject != NULL ? subject : "fabricd", line + used, 256);
    used += (size_t)sprintf(line + used, ": ");
    used += log_clean(message, line + used, room - used);
    used += (size_t)sprintf(line + used, wanted >= (int)sizeof(message) ? " ...\n" : "\n");
    ssize_t written = write(STDERR_FILENO, line, used);
    /* if writing to stderr fails, nothing can report the error */
    (void)written;
}

void log_line(enum log_level level, const char *subject, const char *fmt, ...)
{
    va_list args;
    if (level > state.max)
        return;
    va_start(args, fmt);
    write_line(level, subject, fmt, args);
    va_end(args);
}

void log_always(const char *subject, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    write_line(LOG_LEVEL_NOTICE, subject, fmt, args);
    va_end(args);
}

/* maximum number of fields of log_record */
#define FIELDS_MAX 16

/* Sets *to to a text "NAME=value" from malloc; the value is cleaned by log_clean. Returns false if
 * memory ran out. */
static bool make_field(struct iovec *to, const char *name, const char *value)
{
    size_t room = strlen(name) + 4 * strlen(value) + 2;
    char *text = malloc(room);
    if (text == NULL)
        return false;
    size_t used = (size_t)sprintf(text, "%s=", name);
    used += log_clean(value, text + used, room - used);
    *to = (struct iovec){text, used};
    return true;
}

static bool send_to_journal(const struct log_field *fields, size_t count)
{
    struct iovec parts[FIELDS_MAX];
    size_t made = 0;
    while (made < count && made < FIELDS_MAX &&
           make_field(&parts[made], fields[made].name, fields[made].value))
        made++;
    bool sent = made == count && sd_journal_sendv(parts, (int)made) == 0;
    for (size_t i = 0; i < made; i++)
        free(parts[i].iov_base);
    return sent;
}

void log_record(const char *subject, const struct log_field *fields, size_t count,
                const char *message)
{
    struct log_field all[FIELDS_MAX] = {{"PRIORITY", "5"}, {"SYSLOG_IDENTIFIER", "fabricd"}};
    char *line = NULL;
    size_t used = 2;
    if ((state.journal || state.command) && asprintf(&line, "%s: %s", subject, message) >= 0) {
        all[used++] = (struct log_field){"MESSAGE", line};
        for (size_t i = 0; i < count && used < FIELDS_MAX; i++)
            all[used++] = fields[i];
    }
    bool sent = line != NULL && send_to_journal(all, used);
    if (!sent && !state.command)
        log_always(subject, "%s", message);
    free(line);
}
