/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/commands.h"

/* the letters that own_options gives to the options that all list commands take */
#define LIST_OPTIONS "234k"

enum {
    OPT_TIMEOUT = 256,
    OPT_CA,
    OPT_CERT,
    OPT_KEY,
    OPT_NAME,
    OPT_NO_HEADERS,
    OPT_CONTEXT,
    OPT_ALL_CONTEXTS,
    /* getopt_long returns OPT_OWN + letter for a long option in own_options, such as --after */
    OPT_OWN,
};

/* Options that only some commands take. struct cmd.options has the letters of the options that a
 * command takes. */
static const struct {
    char letter;
    const char *name;
} own_options[] = {
    {'n', "-n"},           {'a', "--after"},   {'s', "--severity"},
    {'f', "--format"},     {'E', "--explain"}, {'R', "--roce"},
    {'S', "--sl"},         {'h', "--hosts"},   {'j', "--job"},
    {'m', "--samples"},    {'d', "--seed"},    {'e', "--engine"},
    {'x', "--fail"},       {'w', "--waiting"}, {'D', "--dry-run"},
    {'A', "--all"},        {'F', "--forget"},  {'G', "--give-up-absent"},
    {'C', "--cc"},         {'r', "--reason"},  {'i', "--since"},
    {'u', "--until"},      {'b', "--by"},      {'c', "--counter"},
    {'o', "--object"},     {'M', "--method"},  {'t', "--result"},
    {'y', "--dir"},        {'Y', "--days"},    {'p', "--passphrase-file"},
    {'T', "--state-dir"},  {'L', "--replace"}, {'v', "--verify"},
    {'z', "--anonymize"},  {'q', "--map"},     {'g', "--degraded"},
    {'J', "--subject"},    {'K', "--type"},    {'B', "--gone"},
    {'O', "--older-than"}, {'X', "--rack"},    {'k', "--watch"},
    {'W', "--width"},      {'P', "--speed"},   {'H', "--to"},
    {'1', "--file"},       {'2', "--sort"},    {'3', "--state"},
    {'4', "--rate"},       {'l', "--local"},   {'Q', "--cache"},
    {'N', "--force"},      {'5', "--for"},     {'U', "--yes"},
    {'I', "--wait"},       {'Z', "--keep"},    {'6', "--no-writes"},
    {'7', "--reconnect"},  {'8', "--diff"},    {'9', "--hook"},
    {'0', "--slurm"},      {'+', "--jobs"},    {'=', "--odd"},
    {'~', "--hot"},
};

static const struct option long_options[] = {
    {"server", required_argument, NULL, 's'},
    {"output", required_argument, NULL, 'o'},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"tls-ca", required_argument, NULL, OPT_CA},
    {"tls-cert", required_argument, NULL, OPT_CERT},
    {"tls-key", required_argument, NULL, OPT_KEY},
    {"tls-name", required_argument, NULL, OPT_NAME},
    {"no-headers", no_argument, NULL, OPT_NO_HEADERS},
    {"context", required_argument, NULL, OPT_CONTEXT},
    {"all-contexts", no_argument, NULL, OPT_ALL_CONTEXTS},
    {"file", required_argument, NULL, OPT_OWN + '1'},
    {"sort", required_argument, NULL, OPT_OWN + '2'},
    {"state", required_argument, NULL, OPT_OWN + '3'},
    {"rate", required_argument, NULL, OPT_OWN + '4'},
    {"count", required_argument, NULL, 'n'},
    {"after", required_argument, NULL, OPT_OWN + 'a'},
    {"severity", required_argument, NULL, OPT_OWN + 's'},
    {"format", required_argument, NULL, OPT_OWN + 'f'},
    {"hosts", required_argument, NULL, OPT_OWN + 'h'},
    {"job", required_argument, NULL, OPT_OWN + 'j'},
    {"jobs", required_argument, NULL, OPT_OWN + '+'},
    {"samples", required_argument, NULL, OPT_OWN + 'm'},
    {"seed", required_argument, NULL, OPT_OWN + 'd'},
    {"engine", required_argument, NULL, OPT_OWN + 'e'},
    {"fail", required_argument, NULL, OPT_OWN + 'x'},
    {"give-up-absent", no_argument, NULL, OPT_OWN + 'G'},
    {"cc", no_argument, NULL, OPT_OWN + 'C'},
    {"explain", no_argument, NULL, OPT_OWN + 'E'},
    {"waiting", no_argument, NULL, OPT_OWN + 'w'},
    {"dry-run", no_argument, NULL, OPT_OWN + 'D'},
    {"all", no_argument, NULL, OPT_OWN + 'A'},
    {"forget", no_argument, NULL, OPT_OWN + 'F'},
    {"sl", required_argument, NULL, OPT_OWN + 'S'},
    {"roce", no_argument, NULL, OPT_OWN + 'R'},
    {"reason", required_argument, NULL, OPT_OWN + 'r'},
    {"local", no_argument, NULL, OPT_OWN + 'l'},
    {"since", required_argument, NULL, OPT_OWN + 'i'},
    {"until", required_argument, NULL, OPT_OWN + 'u'},
    {"by", required_argument, NULL, OPT_OWN + 'b'},
    {"counter", required_argument, NULL, OPT_OWN + 'c'},
    {"object", required_argument, NULL, OPT_OWN + 'o'},
    {"method", required_argument, NULL, OPT_OWN + 'M'},
    {"result", required_argument, NULL, OPT_OWN + 't'},
    {"dir", required_argument, NULL, OPT_OWN + 'y'},
    {"days", required_argument, NULL, OPT_OWN + 'Y'},
    {"degraded", no_argument, NULL, OPT_OWN + 'g'},
    {"subject", required_argument, NULL, OPT_OWN + 'J'},
    {"type", required_argument, NULL, OPT_OWN + 'K'},
    {"gone", no_argument, NULL, OPT_OWN + 'B'},
    {"older-than", required_argument, NULL, OPT_OWN + 'O'},
    {"rack", required_argument, NULL, OPT_OWN + 'X'},
    {"watch", no_argument, NULL, OPT_OWN + 'k'},
    {"width", required_argument, NULL, OPT_OWN + 'W'},
    {"speed", required_argument, NULL, OPT_OWN + 'P'},
    {"passphrase-file", required_argument, NULL, OPT_OWN + 'p'},
    {"state-dir", required_argument, NULL, OPT_OWN + 'T'},
    {"replace", no_argument, NULL, OPT_OWN + 'L'},
    {"verify", no_argument, NULL, OPT_OWN + 'v'},
    {"anonymize", no_argument, NULL, OPT_OWN + 'z'},
    {"map", required_argument, NULL, OPT_OWN + 'q'},
    {"to", required_argument, NULL, OPT_OWN + 'H'},
    {"cache", required_argument, NULL, OPT_OWN + 'Q'},
    {"force", no_argument, NULL, OPT_OWN + 'N'},
    {"for", required_argument, NULL, OPT_OWN + '5'},
    {"yes", no_argument, NULL, OPT_OWN + 'U'},
    {"wait", no_argument, NULL, OPT_OWN + 'I'},
    {"reconnect", no_argument, NULL, OPT_OWN + '7'},
    {"no-writes", no_argument, NULL, OPT_OWN + '6'},
    {"diff", no_argument, NULL, OPT_OWN + '8'},
    {"odd", no_argument, NULL, OPT_OWN + '='},
    {"hot", no_argument, NULL, OPT_OWN + '~'},
    {"keep", required_argument, NULL, OPT_OWN + 'Z'},
    {"hook", required_argument, NULL, OPT_OWN + '9'},
    {"slurm", no_argument, NULL, OPT_OWN + '0'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

static int parse_number(const char *option, const char *text, uint64_t max, uint64_t *ret)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || n > max)
        return complain(EXIT_USAGE, "%s \"%s\": a number from 0 to %llu is expected", option, text,
                        (unsigned long long)max);
    *ret = n;
    return EXIT_OK;
}

static int parse_timeout(struct options *o, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= 86400))
        return complain(EXIT_USAGE, "--timeout \"%s\": seconds from 0 to 86400 are expected", text);
    o->client.timeout_ms = (unsigned)(seconds * 1000);
    if (seconds > 0 && o->client.timeout_ms == 0)
        o->client.timeout_ms = 1;
    o->timeout_given = true;
    return EXIT_OK;
}

static int parse_format(struct options *o, const char *text)
{
    static const char *const words[] = {"text", "json", "yaml", "csv", "wide", "name", "svg", NULL};
    size_t i;
    int rc = accept_word("-o", text, words, &i);
    if (rc == EXIT_OK && out_format_of(words[i], &o->format))
        complain_as(o->format);
    return rc;
}

static int parse_severity(struct options *o, const char *text)
{
    static const char *const words[] = {"debug", "info", "warning", "error", NULL};
    size_t i = 0;
    int rc = accept_word("--severity", text, words, &i);
    if (rc == EXIT_OK)
        o->session.severity = (int)i + 1;
    return rc;
}

static int add_failure(struct session *s, const char *text)
{
    char **fails = reallocarray(s->fails, s->fail_count + 1, sizeof *fails);
    if (fails == NULL)
        return complain(EXIT_FAILED, "out of memory");
    s->fails = fails;
    s->fails[s->fail_count++] = (char *)(uintptr_t)text;
    return EXIT_OK;
}

static int parse_word(struct session *s, char letter, const char *text)
{
    const char **to = letter == 'h'   ? &s->hosts
                      : letter == 'j' ? &s->job
                      : letter == '+' ? &s->jobs
                      : letter == 'e' ? &s->engine
                      : letter == 'i' ? &s->since
                      : letter == 'u' ? &s->until
                      : letter == 'b' ? &s->by
                      : letter == 'c' ? &s->counter
                      : letter == 'o' ? &s->object
                      : letter == 'M' ? &s->method
                      : letter == 't' ? &s->result
                      : letter == 'y' ? &s->dir
                      : letter == 'J' ? &s->subject
                      : letter == 'K' ? &s->type
                      : letter == 'O' ? &s->older_than
                      : letter == 'X' ? &s->rack
                      : letter == 'W' ? &s->width
                      : letter == 'P' ? &s->speed
                      : letter == 'p' ? &s->passphrase_file
                      : letter == 'T' ? &s->state_dir
                      : letter == 'q' ? &s->map
                      : letter == 'H' ? &s->to
                      : letter == 'Q' ? &s->cache
                      : letter == '5' ? &s->duration
                      : letter == 'Z' ? &s->keep
                      : letter == '9' ? &s->hook
                      : letter == '1' ? &s->file
                      : letter == '2' ? &s->sort
                      : letter == '3' ? &s->state
                      : letter == '4' ? &s->rate
                                      : &s->format;
    *to = text;
    return EXIT_OK;
}

static int parse_own(struct options *o, char letter, const char *text)
{
    struct session *s = &o->session;
    uint64_t n = 0;
    int rc = EXIT_OK;
    size_t given = strlen(o->given);
    if (strchr(o->given, letter) == NULL && given + 1 < sizeof o->given)
        o->given[given] = letter;
    switch (letter) {
    case 'n':
        rc = parse_number("-n", text, 10000000, &n);
        s->count = (uint32_t)n;
        return rc;
    case 'a':
        return parse_number("--after", text, INT64_MAX, &s->after);
    case 's':
        return parse_severity(o, text);
    case 'm':
        rc = parse_number("--samples", text, 100000, &n);
        s->samples = (uint32_t)n;
        return rc;
    case 'd':
        return parse_number("--seed", text, UINT64_MAX, &s->seed);
    case 'x':
        return add_failure(s, text);
    case 'S':
        rc = parse_number("--sl", text, 15, &n);
        s->sl = (uint32_t)n;
        return rc;
    case 'Y':
        rc = parse_number("--days", text, 36500, &n);
        s->days = (uint32_t)n;
        if (rc == EXIT_OK && n == 0)
            rc = complain(EXIT_USAGE, "--days \"0\": a number from 1 to 36500 is expected");
        return rc;
    case 'r':
        o->client.reason = text;
        return EXIT_OK;
    case 'l':
        o->client.local = true;
        return EXIT_OK;
    case 'C':
        s->cc = true;
        return EXIT_OK;
    case '6':
        s->no_writes = true;
        return EXIT_OK;
    case 'G':
        s->give_up_absent = true;
        return EXIT_OK;
    case 'E':
        s->explain = true;
        return EXIT_OK;
    case 'R':
        s->roce = true;
        return EXIT_OK;
    case 'w':
        s->waiting = true;
        return EXIT_OK;
    case 'A':
        s->all = true;
        return EXIT_OK;
    case 'D':
        s->dry_run = true;
        return EXIT_OK;
    case 'F':
        s->forget = true;
        return EXIT_OK;
    case 'g':
        s->degraded = true;
        return EXIT_OK;
    case 'B':
        s->gone = true;
        return EXIT_OK;
    case 'k':
        s->watch = true;
        return EXIT_OK;
    case 'U':
        s->yes = true;
        return EXIT_OK;
    case '0':
        s->slurm = true;
        return EXIT_OK;
    case '8':
        s->diff = true;
        return EXIT_OK;
    case '=':
        s->odd = true;
        return EXIT_OK;
    case '~':
        s->hot = true;
        return EXIT_OK;
    case 'I':
        s->wait = true;
        return EXIT_OK;
    case '7':
        s->reconnect = true;
        return EXIT_OK;
    case 'N':
        s->force = true;
        return EXIT_OK;
    case 'L':
        s->replace = true;
        return EXIT_OK;
    case 'v':
        s->verify = true;
        return EXIT_OK;
    case 'z':
        s->anonymize = true;
        return EXIT_OK;
    default:
        return parse_word(s, letter, text);
    }
}

static int parse_option(struct options *o, int option, const char *text)
{
    switch (option) {
    case 's':
        o->client.address = text;
        return EXIT_OK;
    case 'o':
        return parse_format(o, text);
    case OPT_TIMEOUT:
        return parse_timeout(o, text);
    case OPT_CA:
        o->client.ca = text;
        return EXIT_OK;
    case OPT_CERT:
        o->client.cert = text;
        return EXIT_OK;
    case OPT_KEY:
        o->client.key = text;
        return EXIT_OK;
    case OPT_NAME:
        o->client.server_name = text;
        return EXIT_OK;
    case OPT_CONTEXT:
        o->context = text;
        return EXIT_OK;
    case OPT_ALL_CONTEXTS:
        o->all_contexts = true;
        return EXIT_OK;
    case OPT_NO_HEADERS:
        o->no_headers = true;
        return EXIT_OK;
    case 'n':
        return parse_own(o, 'n', text);
    case 'h':
        o->help = true;
        return EXIT_OK;
    case 'V':
        o->version = true;
        return EXIT_OK;
    default:
        return parse_own(o, (char)(option - OPT_OWN), text);
    }
}

/* ---- options that are not accepted ----------------------------------------------------------- */

/* Returns the name of the long option that is most similar to `text`, a word of the command line
 * without its dashes; NULL: none is similar. */
static const char *nearest_option(const char *text)
{
    const char *names[sizeof long_options / sizeof long_options[0]] = {NULL};
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    for (size_t i = 0; long_options[i].name != NULL; i++)
        names[i] = long_options[i].name;
    return near_word(name, names);
}

/* Lists the long options that begin with the text, such as "--tls-ca, --tls-cert". Returns how many
 * there are. */
static size_t list_beginnings(const char *text, char *list, size_t size)
{
    size_t count = 0, used = 0;
    for (const struct option *l = long_options; l->name != NULL && used < size; l++)
        if (strncmp(l->name, text, strlen(text)) == 0)
            used += (size_t)snprintf(list + used, size - used, "%s--%s", count++ > 0 ? ", " : "",
                                     l->name);
    return count;
}

/* Prints why getopt_long did not accept an option. failure: the result of getopt_long, '?' or ':'.
 * word: the word of the command line that has the option. */
static int complain_option(int failure, const char *word)
{
    char list[600] = "";
    if (failure == ':')
        return complain(EXIT_USAGE, "%.100s needs a value", word);
    if (optopt != 0 && strncmp(word, "--", 2) == 0 && strchr(word, '=') != NULL)
        return complain(EXIT_USAGE, "%.*s takes no value", (int)strcspn(word, "="), word);
    if (optopt != 0)
        return complain(EXIT_USAGE, "no option -%c; 'fabricctl -h' lists all options", optopt);
    if (word[2] != '\0' && list_beginnings(word + 2, list, sizeof list) > 1)
        return complain(EXIT_USAGE, "%.100s is ambiguous: %s", word, list);
    const char *near = nearest_option(word + 2);
    if (near == NULL)
        return complain(EXIT_USAGE, "no option %.100s; 'fabricctl -h' lists all options", word);
    return complain(EXIT_USAGE, "no option %.100s; did you mean --%s?", word, near);
}

/* Makes error messages JSON if -o json is anywhere on the command line, even after the argument
 * that has the error. */
static void find_format(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bool apart = strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0;
        if (strcmp(argv[i], "-ojson") == 0 || strcmp(argv[i], "--output=json") == 0 ||
            (apart && i + 1 < argc && strcmp(argv[i + 1], "json") == 0))
            complain_as(OUT_JSON);
    }
}

int parse_options(struct options *o, int argc, char **argv)
{
    int option, rc = EXIT_OK;
    opterr = 0;
    find_format(argc, argv);
    while (rc == EXIT_OK &&
           (option = getopt_long(argc, argv, ":s:o:n:hV", long_options, NULL)) != -1)
        rc = option == '?' || option == ':' ? complain_option(option, argv[optind - 1])
                                            : parse_option(o, option, optarg);
    return rc;
}

/* Prints the error that the command cannot draw a picture, and names the commands that can. */
static int complain_picture(const char *usage)
{
    char all[400] = "";
    for (size_t i = 0; commands[i] != NULL; i++) {
        const struct cmd *c = commands[i];
        size_t len = strlen(all);
        if (c->picture)
            snprintf(all + len, sizeof all - len, "%s%s%s%s", len > 0 ? ", " : "", c->noun,
                     c->verb != NULL ? " " : "", c->verb != NULL ? c->verb : "");
    }
    return complain(EXIT_USAGE,
                    "-o svg: \"%s\" has no picture; %s have one, and topo export has --format svg",
                    usage, all);
}

int check_arguments(const struct cmd *c, const struct options *o)
{
    char own[40];
    snprintf(own, sizeof own, "%s%s", c->options != NULL ? c->options : "",
             c->is_list ? LIST_OPTIONS : "");
    const char *verb = c->verb != NULL ? c->verb : "";
    char usage[USAGE_LEN];
    usage_of(c, usage);
    if (o->session.argc < c->min_args || o->session.argc > c->max_args)
        return complain(EXIT_USAGE, "usage: fabricctl %s", usage);
    for (size_t i = 0; i < sizeof own_options / sizeof own_options[0]; i++)
        if (strchr(o->given, own_options[i].letter) && !strchr(own, own_options[i].letter))
            return complain(EXIT_USAGE, "%s%s%s has no option %s", c->noun, *verb ? " " : "", verb,
                            own_options[i].name);
    if (o->format == OUT_SVG && !c->picture)
        return complain_picture(usage);
    if (o->format == OUT_SVG && o->session.watch)
        return complain(EXIT_USAGE, "-o svg writes one picture, so it cannot be used with --watch");
    return EXIT_OK;
}

const char *option_of(const char *word)
{
    if (word[0] != '-')
        return NULL;
    for (const struct option *o = long_options; o->name != NULL; o++) {
        bool letter = o->val < OPT_TIMEOUT && word[1] == (char)o->val && word[2] == '\0';
        bool name = word[1] == '-' && strcmp(word + 2, o->name) == 0;
        if (o->has_arg == required_argument && (letter || name))
            return o->name;
    }
    return NULL;
}

void set_connection(struct options *o, const char *name, const char *value)
{
    static const char *const names[] = {"server",   "context", "tls-ca",
                                        "tls-cert", "tls-key", "tls-name"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (const struct option *l = long_options; l->name != NULL; l++)
            if (strcmp(name, names[i]) == 0 && strcmp(l->name, name) == 0)
                (void)parse_option(o, l->val, value);
}

void each_option(const struct cmd *c, void (*each)(void *ctx, const char *name), void *ctx)
{
    for (size_t i = 0; i < sizeof own_options / sizeof own_options[0]; i++)
        if ((c->options != NULL && strchr(c->options, own_options[i].letter) != NULL) ||
            (c->is_list && strchr(LIST_OPTIONS, own_options[i].letter) != NULL))
            each(ctx, own_options[i].name);
}
