/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes fabricd-events(7) from the table of events to stdout. The file doc/fabricd-events.7 is the
 * output of this program, and tests/events.sh compares it with the present output. To write the
 * file again:
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

/* Writes a text with one sentence on each line, as is usual in mdoc. Escapes quotes at the
 * beginning of words, because roff takes a line that begins with a quote for a request. */
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

/* Returns true if `at` begins with {name}, which stands for the value of the field `name`. */
static bool is_value(const char *at, const char *name, size_t len)
{
    return at[0] == '{' && strncmp(at + 1, name, len) == 0 && at[1 + len] == '}';
}

/* Returns true if the message contains the value of the field. The two texts in {name:one|other}
 * are then the singular and the plural of a word. */
static bool is_shown(const char *format, const char *name, size_t len)
{
    for (const char *at = format; (at = strchr(at, '{')) != NULL; at++)
        if (is_value(at, name, len))
            return true;
    return false;
}

static void put_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        fputs(text[i] == '"' ? "\\(dq" : (char[]){text[i], 0}, stdout);
}

/* Writes the format of a message as readers of the page need it: <peer> stands for the value of a
 * field, [text] for a text that can be missing, and [one | other] for one of two texts. Words that
 * depend on a number are in the plural. */
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
        else if (at[name] == '?' && is_value(end + 1, at, name)) {
            printf("[%.*s\\fI<%.*s>\\fR]", (int)(end - rest), rest, (int)name, at);
            end += name + 2;
        } else if (at[name] == '?')
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
        {"drain", "the drained object"},
        {"port", "a port"},
        {"sender", "the switch port of the sender, except in the cases below"},
        {"node", "a node"},
        {"switch", "a switch or \"fabric\", see below"},
        {"fabric", "\"fabric\""},
        {"manager", "\"manager\""},
        {"policy", "\"policy\""},
        {"target", "the entry of the setting alerts, such as \"alerts[0]\""},
        {"class", "a traffic class"},
        {"engine", "a routing engine"},
        {"transport", "the manager's port"},
    };
    for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
        if (strcmp(subjects[i][0], about) == 0)
            return subjects[i][1];
    return about;
}

static void put_form(const struct event_row *row, const char *number)
{
    printf("%s (severity %s; the subject is %s):\n", number, severities[row->severity],
           subject(row->about));
    put_format(row->message);
    put_fields(row);
}

/* Writes the messages of an event. They come before the text about the event, because this text
 * refers to the numbers of the messages and to their fields. */
static void put_forms(const struct event_row *row)
{
    static const char *const numbers[] = {"Second message", "Third message", "Fourth message",
                                          "Further message"};
    size_t more = 0, most = sizeof(numbers) / sizeof(*numbers) - 1;
    for (int i = 0; i < EVENT_IDS; i++)
        more += event_rows[i].of == row->of && &event_rows[i] != row;
    put_form(row, more ? "First message" : "Message");
    more = 0;
    for (int i = 0; i < EVENT_IDS; i++) {
        const struct event_row *form = &event_rows[i];
        if (form->of != row->of || form == row)
            continue;
        printf(".Pp\n");
        put_form(form, numbers[more < most ? more : most]);
        more++;
    }
}

static void put_event(const struct event_row *row)
{
    printf(".It Sy %s\n", row->type);
    put_forms(row);
    printf(".Pp\n");
    put_text(row->meaning);
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
        "The manager writes events to its log, stores them in the event journal of its database, "
        "and sends\n"
        "them to clients.\n"
        "Events of severity debug are not stored.\n"
        ".Ql fabricctl event list\n"
        "prints the newest stored events.\n"
        ".Ql fabricctl event watch\n"
        "prints events as they happen.\n"
        "gRPC clients call ListEvents and WatchEvents.\n"
        "The metric\n"
        ".Va fabricd_events_total\n"
        "counts events by type and severity.\n"
        ".Pp\n"
        "Each event has these properties:\n"
        ".Bl -tag -width Ds\n"
        ".It sequence number\n"
        "The number of the event in the journal.\n"
        "It rises with each stored event, also across restarts of the manager.\n"
        "Events of severity debug have no number.\n"
        ".It time\n"
        "The time at which the event was emitted, in UTC.\n"
        ".It severity\n"
        "The severity is debug, info, warning or error.\n"
        ".It type\n"
        "The type is one of the names in\n"
        ".Sx EVENTS .\n"
        ".It subject\n"
        "The subject names the node, the port or the other object that the event is about.\n"
        "The subject of an event about one link is one of its two ports.\n"
        "In most of these events, the fields\n"
        ".Va peer , peer_guid\n"
        "and\n"
        ".Va peer_port\n"
        "name the other port.\n"
        ".It GUID and port\n"
        "If the subject is a node, the event has the node GUID, and port number 0.\n"
        "If the subject is a port, the event has the GUID of the node of this port, and the number "
        "of the port.\n"
        "In some events, the subject is the switch port to which a host is connected, but the GUID "
        "is that of the host:\n"
        ".Bl -bullet -compact\n"
        ".It\n"
        "in node-unapproved and node-name-changed, the node GUID of the host, and the number of "
        "the switch port;\n"
        ".It\n"
        "in quota-exceeded, the port GUID of the host, and port number 0;\n"
        ".It\n"
        "in events about a subnet manager, such as sm-refused and sm-control-refused, the port "
        "GUID of this subnet manager, and port number 0;\n"
        ".It\n"
        "in other events about packets that a host sent, such as trap-refused and m-key-violation, "
        "the node GUID of the host, and port number 0.\n"
        ".El\n"
        ".Pp\n"
        "In duplicate-lid and invalid-lid, the GUID is the GUID of the port, not of its node, and "
        "the port number is 0.\n"
        "In subscription-ended, the subject is the port GUID of the subscriber as text, the GUID "
        "is this port GUID, and the port number is 0.\n"
        ".It places\n"
        "If one event reports many nodes or links that changed, it also has the GUIDs and ports of "
        "all of them, even if its message names only some or none.\n"
        "The output of events does not show these places, but\n"
        ".Cm fabricctl history\n"
        "and\n"
        ".Cm event list --subject\n"
        "find the event by each of these nodes and ports.\n"
        "The manager keeps the places of the latest events only, at most 1,800,000 places.\n"
        ".It message\n"
        "The message is meant for people, and its text may change between versions.\n"
        ".It fields\n"
        "The fields are the values in the message, for programs.\n"
        "GUIDs are text, and numbers are decimal.\n"
        "The message shows the fields\n"
        ".Va status\n"
        "(write-refused) and\n"
        ".Va p_key\n"
        "(p-key-violation) in hexadecimal; in alerts, these two fields are hexadecimal text, too.\n"
        "If a field is in microseconds, the message shows it as ms or s.\n"
        "If a field is in permille, the message shows it as percent.\n"
        "Some fields are numbers that the message does not show, but that decide which of two "
        "texts the message has.\n"
        "An example is the field\n"
        ".Va held_down\n"
        "of the event link-flapping: 0 means no, and any other value means yes.\n"
        "A few other fields are only for programs, and have no effect on the message.\n"
        ".El\n"
        ".Pp\n"
        "Programs should use the type and the fields, not the message.\n"
        ".Ql fabricctl -o json event list\n"
        "prints the fields.\n"
        "The API has them in\n"
        ".Va Event.fields .\n"
        "In the database, they are a JSON object in the column\n"
        ".Va fields\n"
        "of the table\n"
        ".Va event .\n"
        ".Pp\n"
        "If up to eight nodes or links change in the same way at once, each of them gets an event "
        "of its own.\n"
        "If more of them change, one event reports all of them.\n"
        "After several changes of the tables within seconds, the limit is one instead of eight: if "
        "two or more nodes or links change in the same way at once, one event reports all of "
        "them.\n"
        "The subject of an event that reports several links is the node that all of them have in "
        "common.\n"
        "If there is no such node, the subject is\n"
        ".Ql fabric .\n"
        ".Pp\n"
        "Some entries ask you to report an event to the developers of fabricd.\n"
        "The section\n"
        ".Ql Reports of other faults\n"
        "of\n"
        ".Pa SECURITY.md\n"
        "in the documentation, for example in\n"
        ".Pa /usr/share/doc/fabricd ,\n"
        "says how to do this.\n"
        ".Sh EVENTS\n"
        "Each entry begins with the message of the event, its severity, its subject and its "
        "fields.\n"
        "If an event can have different messages, the entry shows all of them; an emitted event "
        "has one of them.\n"
        "An explanation of the event follows.\n"
        "The messages contain:\n"
        ".Bl -tag -width Ds -compact\n"
        ".It \\fI<name>\\fR\n"
        "The value of a field, or the subject or GUID of the event.\n"
        ".It [text]\n"
        "A text that is present only in some cases.\n"
        ".It [one | other]\n"
        "One of two texts.\n"
        ".El\n"
        ".Pp\n"
        "In a command,\n"
        ".Ar NODE\n"
        "stands for the name of a node, and\n"
        ".Ar NODE/PORT\n"
        "for a port of this node.\n"
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
          ".Xr fabsim 1 ,\n"
          ".Xr fabricd.yaml 5 ,\n"
          ".Xr fabricd 8\n",
          stdout);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
