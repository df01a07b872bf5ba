/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the command line with getopt_long. Options override the settings file, and the file
 * overrides the defaults. When fabricd reads the file again, the options still override it.
 */
#include "fabricd/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/base/version.h"

#define RECORD_LIMIT_MIB 1024
#define RECORD_LIMIT_MOST_MIB 1048576

enum {
    OPT_SIM = 256,
    OPT_SIM_AT,
    OPT_UMAD,
    OPT_STATE_DIR,
    OPT_LISTEN,
    OPT_CHECK,
    OPT_REHEARSE,
    OPT_HARDWARE_REPORT,
    OPT_LOG_LEVEL,
    OPT_RECORD,
    OPT_RECORD_LIMIT,
    OPT_REPLAY,
    OPT_BACKUP,
    OPT_RESTORE,
    OPT_REPLACE,
    OPT_VERIFY,
    OPT_PASSPHRASE_FILE,
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'f'},
    {"sim", required_argument, NULL, OPT_SIM},
    {"sim-at", required_argument, NULL, OPT_SIM_AT},
    {"umad", optional_argument, NULL, OPT_UMAD},
    {"state-dir", required_argument, NULL, OPT_STATE_DIR},
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"check-config", no_argument, NULL, OPT_CHECK},
    {"rehearse", optional_argument, NULL, OPT_REHEARSE},
    {"hardware-report", optional_argument, NULL, OPT_HARDWARE_REPORT},
    {"log-level", required_argument, NULL, OPT_LOG_LEVEL},
    {"record", required_argument, NULL, OPT_RECORD},
    {"record-limit", required_argument, NULL, OPT_RECORD_LIMIT},
    {"replay", required_argument, NULL, OPT_REPLAY},
    {"backup", required_argument, NULL, OPT_BACKUP},
    {"restore", required_argument, NULL, OPT_RESTORE},
    {"replace", no_argument, NULL, OPT_REPLACE},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"passphrase-file", required_argument, NULL, OPT_PASSPHRASE_FILE},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static const char help[] =
    "Usage: fabricd [OPTION]...\n"
    "The subnet manager of an InfiniBand fabric: discovers it, assigns LIDs, computes and "
    "verifies\n"
    "routes, programs them, and updates them when links and nodes change.\n"
    "\n"
    "  -f, --config FILE      settings file (default: none; every setting has a default)\n"
    "      --umad [CA:PORT]   manage the fabric from this adapter port (default: the first "
    "active)\n"
    "      --sim FILE         manage the simulated fabric described in FILE instead\n"
    "      --sim-at NODE      manage it from this adapter (default: the first with a link)\n"
    "      --state-dir DIR    directory of the database: LID assignments, registrations, events\n"
    "      --listen ADDRESS   unix:PATH or tls:HOST:PORT; can be given several times\n"
    "      --record FILE      record every MAD that is sent and received\n"
    "      --record-limit MIB stop recording at this file size (default: 1024; 0: no limit)\n"
    "      --replay FILE      run on a recording instead of a fabric, and compare\n"
    "      --check-config     only check the settings file\n"
    "      --rehearse[=json]  only show what this manager would write as master; another manager\n"
    "                         may run\n"
    "      --hardware-report[=json]\n"
    "                         only show what the devices answer to the requests of this manager;\n"
    "                         another manager may run\n"
    "      --backup FILE      only write an encrypted backup of the state directory; fabricd may "
    "run\n"
    "      --restore FILE     only restore a backup into the state directory of a stopped "
    "fabricd\n"
    "      --replace          with --restore: put former files aside\n"
    "      --verify           with --restore: only check the backup, and show what it has\n"
    "      --passphrase-file FILE\n"
    "                         the passphrase of the backup is the first line of FILE, or of\n"
    "                         standard input (-)\n"
    "      --log-level LEVEL  error, warning, notice, info or debug\n"
    "      --version          print the version\n"
    "  -h, --help             print this\n"
    "\n"
    "fabricd runs in the foreground. SIGTERM stops it; SIGHUP makes it read the settings file "
    "again.\n"
    "Exit status: 0 stopped on request, 1 failure or differences in a replay, 2 error in\n"
    "the arguments.\n";

static int mistake(const char *what, const char *of)
{
    fprintf(stderr, "fabricd: %s%s (fabricd --help lists the options)\n", what, of);
    return OPTIONS_EXIT_USAGE;
}

static int read_level(struct options *o, const char *name)
{
    static const struct {
        const char *name;
        enum log_level level;
    } levels[] = {
        {"error", LOG_LEVEL_ERROR}, {"warning", LOG_LEVEL_WARNING}, {"notice", LOG_LEVEL_NOTICE},
        {"info", LOG_LEVEL_INFO},   {"debug", LOG_LEVEL_DEBUG},
    };
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
        if (strcmp(levels[i].name, name) == 0) {
            o->log_level = levels[i].level;
            o->has_log_level = true;
            return -1;
        }
    return mistake("the log level is error, warning, notice, info or debug, not ", name);
}

/* Reads the optional format of --rehearse or --hardware-report. */
static int read_format(const char **ret, const char *format)
{
    if (format != NULL && strcmp(format, "text") != 0 && strcmp(format, "json") != 0)
        return mistake("the format is text or json, not ", format);
    *ret = format != NULL ? format : "text";
    return -1;
}

static int add_listen(struct options *o, const char *address)
{
    if (o->listen_count == OPTIONS_MAX_LISTEN)
        return mistake("too many --listen addresses, from ", address);
    o->listen[o->listen_count++] = address;
    return -1;
}

static int read_limit(struct options *o, const char *text)
{
    char *end;
    unsigned long mib = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || mib > RECORD_LIMIT_MOST_MIB)
        return mistake("the limit of a recording is a number of MiB (0: none), not ", text);
    o->record_limit = (uint64_t)mib << 20;
    return -1;
}

/* Returns the argument of --umad. This argument is optional, and getopt_long finds optional
 * arguments only in the form "--umad=CA:PORT"; this function also accepts "--umad CA:PORT". */
static const char *umad_argument(int argc, char **argv)
{
    if (optarg)
        return optarg;
    return optind < argc && argv[optind][0] != '-' ? argv[optind++] : "";
}

static int print(const char *text, const char *more)
{
    printf("%s%s", text, more);
    return 0;
}

static int read_option(struct options *o, int c, int argc, char **argv)
{
    switch (c) {
    case 'f':
        o->config_file = optarg;
        return -1;
    case OPT_SIM:
        o->sim_file = optarg;
        return -1;
    case OPT_SIM_AT:
        o->sim_at = optarg;
        return -1;
    case OPT_UMAD:
        o->umad = umad_argument(argc, argv);
        return -1;
    case OPT_STATE_DIR:
        o->state_dir = optarg;
        return -1;
    case OPT_LISTEN:
        return add_listen(o, optarg);
    case OPT_CHECK:
        o->check_config = true;
        return -1;
    case OPT_REHEARSE:
        return read_format(&o->rehearse, optarg);
    case OPT_HARDWARE_REPORT:
        return read_format(&o->hardware_report, optarg);
    case OPT_BACKUP:
        o->backup = optarg;
        return -1;
    case OPT_RESTORE:
        o->restore = optarg;
        return -1;
    case OPT_REPLACE:
        o->replace = true;
        return -1;
    case OPT_VERIFY:
        o->verify = true;
        return -1;
    case OPT_PASSPHRASE_FILE:
        o->passphrase_file = optarg;
        return -1;
    case OPT_LOG_LEVEL:
        return read_level(o, optarg);
    case OPT_RECORD:
        o->record = optarg;
        return -1;
    case OPT_RECORD_LIMIT:
        return read_limit(o, optarg);
    case OPT_REPLAY:
        o->replay = optarg;
        return -1;
    case 'h':
        return print(help, "");
    case 'V':
        print("fabricd ", fab_base_version());
        return print("\n", "");
    case ':':
        return mistake("this option needs a value: ", argv[optind - 1]);
    default:
        return mistake("there is no option ", argv[optind - 1]);
    }
}

/* Checks that the options of backups fit together. Returns -1 if they do, or the exit status after
 * an error. */
static int check_backup(const struct options *o)
{
    bool any = o->backup != NULL || o->restore != NULL;
    if (o->backup != NULL && o->restore != NULL)
        return mistake("it is either --backup or --restore", "");
    if (any && o->passphrase_file == NULL)
        return mistake("--backup and --restore need --passphrase-file FILE", "");
    if (!any && o->passphrase_file != NULL)
        return mistake("--passphrase-file is for --backup and --restore", "");
    if (o->replace && o->restore == NULL)
        return mistake("--replace is for --restore", "");
    if (o->verify && (o->restore == NULL || o->replace))
        return mistake("--verify is for --restore without --replace", "");
    if (any && o->replay != NULL)
        return mistake("--replay excludes --backup and --restore", "");
    return -1;
}

bool options_only_reads(const struct options *o)
{
    return o->rehearse != NULL || o->hardware_report != NULL;
}

int options_read(struct options *o, int argc, char **argv)
{
    int c, r = -1;
    *o = (struct options){.record_limit = (uint64_t)RECORD_LIMIT_MIB << 20};
    while (r < 0 && (c = getopt_long(argc, argv, ":f:h", long_options, NULL)) != -1)
        r = read_option(o, c, argc, argv);
    if (r >= 0)
        return r;
    if (optind < argc)
        return mistake("it takes no argument besides options, found ", argv[optind]);
    if (o->sim_file && o->umad)
        return mistake("it is either --sim or --umad", "");
    if (o->sim_at && !o->sim_file)
        return mistake("--sim-at says where in the fabric of --sim FILE", "");
    if (o->replay && (o->sim_file || o->umad || o->record || o->state_dir || o->listen_count))
        return mistake("--replay needs no fabric, state or socket, and is not recorded", "");
    if (o->rehearse && o->hardware_report)
        return mistake("it is either --rehearse or --hardware-report", "");
    if (options_only_reads(o) &&
        (o->replay || o->record || o->backup || o->restore || o->check_config))
        return mistake("--rehearse and --hardware-report exclude --check-config, --record, "
                       "--replay, --backup and --restore",
                       "");
    return check_backup(o);
}

static int replace(char **where, const char *with)
{
    if (!with)
        return FAB_OK;
    char *copy = strdup(with);
    if (!copy)
        return FAB_E_NOMEM;
    free(*where);
    *where = copy;
    return FAB_OK;
}

static int override(const struct options *o, struct config *c, char *why, size_t why_len)
{
    int r = replace(&c->state_dir, o->state_dir);
    if (r == FAB_OK)
        r = replace(&c->port, o->umad);
    for (unsigned i = 0; r == FAB_OK && i < o->listen_count; i++)
        r = config_listen_add(c, o->listen[i], i == 0, why, why_len);
    if (r == FAB_OK && o->has_log_level)
        c->log_level = o->log_level;
    return r == FAB_OK ? config_check(c, why, why_len) : r;
}

int options_config(const struct options *o, struct config *ret, char *why, size_t why_len)
{
    struct config c;
    snprintf(why, why_len, "out of memory");
    int r = o->config_file ? config_load(o->config_file, &c, why, why_len)
            : o->settings
                ? config_load_text(o->settings, o->settings_len, o->replay, &c, why, why_len)
                : config_defaults(&c);
    if (r != FAB_OK)
        return r;
    r = override(o, &c, why, why_len);
    if (r != FAB_OK) {
        config_fini(&c);
        return r;
    }
    *ret = c;
    return FAB_OK;
}
