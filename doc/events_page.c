/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes fabricd-events(7) from the table of events to stdout. The page in the tree is what this
 * program wrote; tests/events.sh compares them. To renew it:
 *
 *     build/doc/events_page >doc/fabricd-events.7
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/events.h"

static const char *const severities[] = {"debug", "info", "warning", "error"};
static const char *const units[] = {
    [EVENT_TEXT] = "text",         [EVENT_GUID] = "GUID",
    [EVENT_COUNT] = "number",      [EVENT_MICROSECONDS] = "microseconds",
    [EVENT_PERMILLE] = "permille", [EVENT_HEX] = "number",
};

/* A sentence a line, as mdoc wants it; hyphens of options and commands are kept. A line that begins
 * with a quote would be a request to roff. */
static void put_text(const char *text)
{
    for (const char *at = text; *at; at++) {
        if (at[0] == '\'' && (at == text || at[-1] == ' '))
            fputs("\\&", stdout);
        if (at[0] == '.' && at[1] == ' ')
            fputs(".\n", stdout), at++;
        else if (at[0] == '\\')
            fputs("\\e", stdout);
        else
            putchar(*at);
    }
    putchar('\n');
}

/* Whether the message shows the field as a number, so that words go with it. */
static bool is_shown(const char *format, const char *name, size_t len)
{
    for (const char *at = format; (at = strchr(at, '{')) != NULL; at++)
        if (strncmp(at + 1, name, len) == 0 && at[1 + len] == '}')
            return true;
    return false;
}

static void put_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        fputs(text[i] == '"' ? "\\(dq" : (char[]){text[i], 0}, stdout);
}

/* The message as people read it: <peer> for a value, the plural of words that go with a number,
 * [one | other] where a field decides, [text] where it may be missing. */
static void put_format(const char *format)
{
    fputs(".D1 ", stdout);
    for (const char *at = format; *at; at++) {
        size_t plain = strcspn(at, "{"), name = strcspn(at + plain, ":?}") - 1;
        put_plain(at, plain);
        if (!at[plain])
            break;
        at += plain + 1;
        const char *rest = at + name + 1, *end = strchr(at, '}');
        size_t one = strcspn(rest, "|}");
        if (at[name] == '}')
            printf("\\fI<%.*s>\\fR", (int)name, at);
        else if (at[name] == '?')
            printf("[%.*s]", (int)(end - rest), rest);
        else if (is_shown(format, at, name))
            put_plain(rest + one + 1, (size_t)(end - rest) - one - 1);
        else
            printf("[%.*s | %.*s]", (int)one, rest, (int)(end - rest - (ptrdiff_t)one) - 1,
                   rest + one + 1);
        at = end;
    }
    putchar('\n');
}

static void put_fields(const struct event_row *row)
{
    if (!row->fields->name)
        return;
    fputs("Fields:\n", stdout);
    for (const struct event_field *f = row->fields; f->name; f++)
        printf(".Va %s\n(%s)%s\n", f->name, units[f->kind], f[1].name ? "," : ".");
}

static const char *subject(const char *about)
{
    static const char *const subjects[][2] = {
        {"link", "a port of the link"},
        {"port", "a port"},
        {"node", "a node"},
        {"fabric", "\"fabric\""},
        {"manager", "the subnet manager"},
        {"class", "a traffic class"},
        {"engine", "a routing engine"},
        {"transport", "the manager's port"},
    };
    for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
        if (strcmp(subjects[i][0], about) == 0)
            return subjects[i][1];
    return about;
}

static void put_form(const struct event_row *row)
{
    printf(".Pp\nSeverity %s; the subject is %s:\n", severities[row->severity],
           subject(row->about));
    put_format(row->message);
    put_fields(row);
}

static void put_event(const struct event_row *row)
{
    enum event_id id = row->of;
    printf(".It Sy %s\n", row->type);
    put_text(row->meaning);
    put_form(row);
    for (int i = 0; i < EVENT_IDS; i++) {
        const struct event_row *form = &event_rows[i];
        if (form->of != id || form == row)
            continue;
        put_form(form);
    }
    printf(".Pp\n.Em Likely cause :\n");
    put_text(row->cause);
    printf(".Pp\n.Em What to do :\n");
    put_text(row->remedy);
}

static int compare(const void *x, const void *y)
{
    const struct event_row *const *a = x, *const *b = y;
    return strcmp((*a)->type, (*b)->type);
}

int main(void)
{
    const struct event_row *list[EVENT_IDS];
    size_t count = 0;
    fputs(
        ".\\\" Written by doc/events_page.c from fabricd/base/events.def. Do not edit.\n"
        ".Dd November 22, 2026\n"
        ".Dt FABRICD-EVENTS 7\n"
        ".Os\n"
        ".Sh NAME\n"
        ".Nm fabricd-events\n"
        ".Nd events of the InfiniBand fabric manager\n"
        ".Sh DESCRIPTION\n"
        ".Xr fabricd 8\n"
        "reports what happens in the fabric as events.\n"
        "They go to its log, to the journal in its database, and to clients:\n"
        ".Ql fabricctl event list\n"
        "prints the newest ones,\n"
        ".Ql fabricctl event watch\n"
        "prints them as they happen, and the RPC has them as ListEvents and WatchEvents.\n"
        ".Pp\n"
        "An event has a sequence number that rises over restarts, a time, a severity (debug, "
        "info,\n"
        "warning or error), a type, a subject, a message, and, where they apply, the GUID of a "
        "node\n"
        "and the number of one of its ports.\n"
        "Events of severity debug are not kept in the journal.\n"
        "Messages are for people and may change.\n"
        "Programs use the type and the fields:\n"
        ".Ql fabricctl -o json event list\n"
        "prints them, the RPC has them in\n"
        ".Va Event.fields ,\n"
        "and the column\n"
        ".Va fields\n"
        "of the table event in the database has them as a JSON object.\n"
        "GUIDs are text; numbers are decimal.\n"
        "The metric\n"
        ".Va fabricd_events_total\n"
        "counts events by type and severity.\n"
        ".Pp\n"
        "If many events of one type happen at once, one event about the fabric, or about the node\n"
        "that all of them have in common, replaces them.\n"
        "The subject of such an event is\n"
        ".Ql fabric\n"
        "or the name of that node.\n"
        "The subject of an event about a link is one of its ports; the fields\n"
        ".Va peer , peer_guid\n"
        "and\n"
        ".Va peer_port\n"
        "name the other one.\n"
        ".Sh EVENTS\n"
        "Each entry says what the event means, and then its severity, subject, message and "
        "fields.\n"
        "In a message, \\fI<name>\\fR is the value of a field, [text] may be missing, and a field\n"
        "decides between [one | other].\n"
        ".Bl -tag -width Ds\n",
        stdout);
    for (int i = 0; i < EVENT_IDS; i++)
        if (event_rows[i].of == (enum event_id)i)
            list[count++] = &event_rows[i];
    qsort(list, count, sizeof(*list), compare);
    for (size_t i = 0; i < count; i++)
        put_event(list[i]);
    fputs(".El\n"
          ".Sh SEE ALSO\n"
          ".Xr fabricctl 1 ,\n"
          ".Xr fabricd.yaml 5 ,\n"
          ".Xr fabricd 8\n",
          stdout);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
