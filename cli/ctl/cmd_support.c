/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl support-bundle` collects information for a report about a fault. Each part
 * is the output of a program: fabricctl itself, with the same connection options, or a program of
 * the system. Therefore the bundle contains only data that the caller may read, and the manager
 * needs no code for the bundle. A part that fails or hangs does not affect the other parts. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/ctl/bundle.h"
#include "cli/ctl/cmd.h"
#include "libfabmgr/base/status.h"

#define PART_TIME_S 120
#define WORDS_MOST 24

struct part {
    const char *file;
    /* The program and its arguments. The word "fabricctl" at the beginning stands for this program,
     * which runs with the same connection options. */
    const char *words[12];
};

static const struct part parts[] = {
    /* the first part must call the manager, because its result shows whether a manager answers */
    {"status.json", {"fabricctl", "-o", "json", "status"}},
    {"version.json", {"fabricctl", "-o", "json", "version"}},
    {"whoami.json", {"fabricctl", "-o", "json", "whoami"}},
    {"nodes.json", {"fabricctl", "-o", "json", "node", "list"}},
    {"links.json", {"fabricctl", "-o", "json", "link", "list"}},
    {"links-flapping.json", {"fabricctl", "-o", "json", "link", "flapping"}},
    {"links-unhealthy.json", {"fabricctl", "-o", "json", "link", "unhealthy"}},
    {"events.json", {"fabricctl", "-o", "json", "event", "list", "-n", "5000"}},
    {"reroutes.json", {"fabricctl", "-o", "json", "reroute", "list", "-n", "500"}},
    {"verdict.json", {"fabricctl", "-o", "json", "route", "verify"}},
    {"contingency.json", {"fabricctl", "-o", "json", "route", "contingency"}},
    {"partitions.json", {"fabricctl", "-o", "json", "partition", "list"}},
    {"classes.json", {"fabricctl", "-o", "json", "class", "list"}},
    {"multicast.json", {"fabricctl", "-o", "json", "multicast", "list"}},
    {"keys.json", {"fabricctl", "-o", "json", "key", "show"}},
    {"congestion.json", {"fabricctl", "-o", "json", "cc", "status"}},
    {"node-pins.json", {"fabricctl", "-o", "json", "node", "pins"}},
    {"baseline.json", {"fabricctl", "-o", "json", "topo", "baseline"}},
    {"audit-verdict.json", {"fabricctl", "-o", "json", "audit", "verify"}},
    {"settings.txt", {"fabricctl", "diagnostics", "settings"}},
    {"metrics.txt", {"fabricctl", "diagnostics", "metrics"}},
    {"database.txt", {"fabricctl", "diagnostics", "database"}},
    {"process.txt", {"fabricctl", "diagnostics", "process"}},
    /* -p names the properties to show: other properties, such as the environment of the unit, can
     * contain secrets */
    {"unit.txt",
     {"systemctl", "show", "fabricd", "--no-pager", "-p",
      "ActiveState,SubState,Result,NRestarts,ActiveEnterTimestamp,ExecMainStatus,MemoryCurrent",
      "-p", "MemoryMax,TasksCurrent,CPUUsageNSec,LimitNOFILE"}},
    {"journal.txt",
     {"journalctl", "-u", "fabricd", "--since", "-1d", "-n", "20000", "--no-pager", "-o",
      "short-iso-precise"}},
    {"kernel.txt", {"uname", "-srvm"}},
    {"system.txt", {"cat", "/etc/os-release"}},
    {"cpus.txt", {"lscpu"}},
    {"disk.txt", {"df", "-k", "/var/lib/fabricd"}},
    /* Parts without a file name extension are not in the bundle. They are made only so that
     * --anonymize can learn the names in them. */
    {"audit", {"fabricctl", "audit", "export", "--since", "30d"}},
    {"services", {"fabricctl", "-o", "json", "service", "list"}},
};
#define PARTS (sizeof parts / sizeof parts[0])

struct outcome {
    bool there;
    char why[500]; /* why the part was left out; "": it was not requested */
};

struct bundle {
    const struct session *session;
    char folder[PATH_MAX]; /* temporary folder of the parts */
    struct outcome outcomes[PARTS];
    bool no_manager;
    unsigned left_out;
    struct anonymizer *anonymizer; /* NULL: names are not replaced */
};

static bool path_of(char path[PATH_MAX], const struct bundle *b, const char *file)
{
    return (size_t)snprintf(path, PATH_MAX, "%s/%s", b->folder, file) < PATH_MAX;
}

/* ---- programs -------------------------------------------------------------------------------- */

static bool is_own(const struct part *p)
{
    return strcmp(p->words[0], "fabricctl") == 0;
}

static bool is_names_only(const struct part *p)
{
    return strchr(p->file, '.') == NULL;
}

static size_t add_option(const char *words[WORDS_MOST], size_t n, const char *name,
                         const char *value)
{
    if (value == NULL)
        return n;
    words[n] = name;
    words[n + 1] = value;
    return n + 2;
}

/* Writes the whole command line of a part to words[]. */
static void command_of(const struct part *p, const struct fab_client_options *c,
                       const char *words[WORDS_MOST])
{
    size_t n = 0;
    words[n++] = p->words[0];
    if (is_own(p)) {
        n = add_option(words, n, "-s", c->address);
        n = add_option(words, n, "--tls-ca", c->ca);
        n = add_option(words, n, "--tls-cert", c->cert);
        n = add_option(words, n, "--tls-key", c->key);
        n = add_option(words, n, "--tls-name", c->server_name);
    }
    for (size_t i = 1; i < sizeof p->words / sizeof p->words[0] && p->words[i] != NULL; i++)
        words[n++] = p->words[i];
    words[n] = NULL;
}

/* Runs in the child process: executes the program, which writes its output to `out` and its errors
 * to `err`. Does not return. */
static void become(const char *const *words, bool own, int out, int err)
{
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(err, STDERR_FILENO) < 0)
        _exit(127);
    alarm(PART_TIME_S);
    char *const *argv = (char *const *)(uintptr_t)words;
    if (own)
        execv("/proc/self/exe", argv);
    else
        execvp(words[0], argv);
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

/* Runs a program. Returns its exit status. If it was killed or could not be started, returns -1,
 * and writes the reason to why[]. */
static int run(const char *const *words, bool own, int out, int err, char *why, size_t why_len)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        become(words, own, out, err);
    while (pid >= 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            pid = -1;
    if (pid >= 0 && WIFEXITED(status))
        return WEXITSTATUS(status);
    if (pid < 0)
        snprintf(why, why_len, "it cannot be started: %s", strerror(errno));
    else if (WTERMSIG(status) == SIGALRM)
        snprintf(why, why_len, "it did not end within %d seconds", PART_TIME_S);
    else
        snprintf(why, why_len, "it was ended by signal %d", WTERMSIG(status));
    return -1;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Writes to why[] the first line that the program printed on standard error. If the program printed
 * nothing there and exited, writes its exit status. If it did not exit, why[] has the reason
 * already. */
static void read_why(int err, int status, char *why, size_t why_len)
{
    char text[500];
    ssize_t n = pread(err, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (text[0] != '\0')
        snprintf(why, why_len, "%s", text);
    else if (status >= 0)
        snprintf(why, why_len, "exit status %d", status);
}

static void collect(struct bundle *b, size_t i)
{
    const struct part *p = &parts[i];
    const char *words[WORDS_MOST];
    char path[PATH_MAX], errors[PATH_MAX];
    struct outcome *o = &b->outcomes[i];
    struct stat st;
    command_of(p, b->session->connection, words);
    if (!path_of(path, b, p->file) || !path_of(errors, b, "errors"))
        return;
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int err = open(errors, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int status = -1;
    if (out < 0 || err < 0)
        snprintf(o->why, sizeof o->why, "its file cannot be made: %s", strerror(errno));
    else
        status = run(words, is_own(p), out, err, o->why, sizeof o->why);
    /* Also keep the output of a command that ended with EXIT_UNSOUND: a check of the command
     * failed, but its output is complete. */
    o->there = out >= 0 && fstat(out, &st) == 0 && st.st_size > 0 &&
               (status == EXIT_OK || (is_own(p) && status == EXIT_UNSOUND));
    if (!o->there)
        read_why(err, status, o->why, sizeof o->why);
    if (out >= 0)
        close(out);
    if (err >= 0)
        close(err);
    unlink(errors);
    b->no_manager |= i == 0 && status == EXIT_UNAVAILABLE;
    if (!o->there)
        unlink(path);
    b->left_out += !o->there && !is_names_only(p);
}

static void collect_all(struct bundle *b)
{
    for (size_t i = 0; i < PARTS; i++)
        if ((!b->no_manager || !is_own(&parts[i])) &&
            (b->anonymizer != NULL || !is_names_only(&parts[i])))
            collect(b, i);
}

static void describe_parts(FILE *to, const struct bundle *b)
{
    for (size_t i = 0; i < PARTS; i++) {
        const struct outcome *o = &b->outcomes[i];
        if (is_names_only(&parts[i]) || (!o->there && o->why[0] == '\0'))
            continue;
        fprintf(to, "%-22s", parts[i].file);
        if (!o->there)
            fprintf(to, " LEFT OUT (%s): ", o->why);
        for (size_t w = 0; parts[i].words[w] != NULL; w++)
            fprintf(to, " %s", parts[i].words[w]);
        fputc('\n', to);
    }
}

static int write_readme(const struct bundle *b)
{
    static const char plain[] =
        "It has names of nodes and users, GUIDs, addresses and the settings. Read it before you "
        "send it.\n";
    static const char anonymous[] =
        "Names, GUIDs, addresses and reasons are replaced by pseudonyms, which are the same in all "
        "files.\nPorts, LIDs and the topology are as they were. A name that is also a word of "
        "fabricd's messages\ncan be left: read the bundle before you send it.\n";
    char path[PATH_MAX], now[40];
    time_t t = time(NULL);
    struct tm utc;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    FILE *to = path_of(path, b, "README.txt") ? fopen(path, "we") : NULL;
    if (to == NULL)
        return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
    fprintf(to,
            "Support bundle of a fabric manager (fabricd), made at %s.\n\n"
            "It has no keys and no certificates: only answers of the manager that its caller may "
            "read,\nthe log of the manager, and facts about this machine.\n%s\n"
            "Each file is the output of the command beside it.\n\n",
            now, b->anonymizer != NULL ? anonymous : plain);
    describe_parts(to, b);
    if (b->no_manager)
        fputs("\nNo manager answered, so its other parts are missing.\n", to);
    return fclose(to) == 0 ? EXIT_OK : complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
}

/* Replaces the names in all parts. If this fails, prints the reason. Returns the exit code; after a
 * failure, no bundle is made. */
static int anonymize(struct bundle *b)
{
    int rc = EXIT_OK;
    for (size_t i = 0; i < PARTS; i++)
        if (strcmp(parts[i].file, "nodes.json") == 0 && !b->no_manager && !b->outcomes[i].there)
            return complain(EXIT_FAILED,
                            "refused: the names of the nodes are not known, so the bundle cannot "
                            "be anonymized: %s",
                            b->outcomes[i].why);
    bundle_learn_here(b->anonymizer, b->session->connection->address);
    /* Learn twice, because the second pass can use all names from the first pass to decide whether
     * a word may be a name. */
    for (size_t i = 0; i < 2 * PARTS && rc == EXIT_OK; i++) {
        const struct outcome *o = &b->outcomes[i % PARTS];
        bundle_learn_text(b->anonymizer, o->why);
        if (o->there)
            rc = bundle_learn_part(b->anonymizer, b->folder, parts[i % PARTS].file);
    }
    anonymizer_seal(b->anonymizer);
    for (size_t i = 0; i < PARTS && rc == EXIT_OK; i++) {
        struct outcome *o = &b->outcomes[i];
        bundle_replace_text(b->anonymizer, o->why, sizeof o->why);
        if (o->there && !is_names_only(&parts[i]))
            rc = bundle_replace_part(b->anonymizer, b->folder, parts[i].file);
        else if (o->there)
            rc = bundle_remove_part(b->folder, parts[i].file);
    }
    return rc;
}

/* ---- the archive ----------------------------------------------------------------------------- */

static void remove_parts(const struct bundle *b)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < PARTS; i++)
        if (path_of(path, b, parts[i].file))
            unlink(path);
    if (path_of(path, b, "README.txt"))
        unlink(path);
    rmdir(b->folder);
}

static int pack(const struct bundle *b, const char *file)
{
    char part[PATH_MAX], why[100] = "";
    /* tar puts "fabricd-support/" before all names in the archive */
    const char *const words[] = {"tar",       "--create",    "--gzip",
                                 "--file",    "-",           "--owner=0",
                                 "--group=0", "--transform", "s,^\\.,fabricd-support,",
                                 "-C",        b->folder,     ".",
                                 NULL};
    if ((size_t)snprintf(part, sizeof part, "%s.XXXXXX", file) >= sizeof part)
        return complain(EXIT_FAILED, "%s: the name is too long", file);
    int fd = mkostemp(part, O_CLOEXEC); /* the file has mode 0600 */
    if (fd < 0)
        return complain(EXIT_FAILED, "%s: %s", file, strerror(errno));
    int status = run(words, false, fd, STDERR_FILENO, why, sizeof why);
    int rc = EXIT_OK;
    if (status > 0)
        snprintf(why, sizeof why, "exit status %d", status);
    if (status != 0)
        rc = complain(EXIT_FAILED, "%s was not written: tar failed: %s", file, why);
    if (close(fd) != 0 || (rc == EXIT_OK && rename(part, file) != 0))
        rc = complain(EXIT_FAILED, "%s: %s", file, strerror(errno));
    if (rc != EXIT_OK)
        unlink(part);
    return rc;
}

static void default_name(bool anonymous, char name[PATH_MAX])
{
    char host[200] = "", day[20];
    time_t t = time(NULL);
    struct tm local;
    if (anonymous)
        snprintf(host, sizeof host, "anonymous");
    else
        gethostname(host, sizeof host - 1);
    host[strcspn(host, "./")] = '\0';
    strftime(day, sizeof day, "%Y%m%d-%H%M%S", localtime_r(&t, &local));
    snprintf(name, PATH_MAX, "fabricd-support-%s-%s.tar.gz", host, day);
}

static void say_result(const struct bundle *b, const char *file)
{
    struct out *o = b->session->out;
    out_record(o, NULL);
    out_text(o, "file", "Bundle", OUT_PLAIN, file);
    out_number(o, "left_out", "Left out", OUT_PLAIN, b->left_out);
    out_bool(o, "anonymized", NULL, OUT_PLAIN, b->anonymizer != NULL);
    if (b->anonymizer != NULL) {
        bundle_say_replaced(o, b->anonymizer);
        out_text(o, "map", b->session->map != NULL ? "Map" : NULL, OUT_PLAIN,
                 b->session->map != NULL ? b->session->map : "");
    }
    out_note(o, OUT_DIM,
             "README.txt in it says what the files are, and why parts were left out. %s: read it "
             "before you send it.",
             b->anonymizer != NULL ? "A name that is also a word of fabricd's messages can be left"
                                   : "Names of nodes and users are in it");
    out_record_end(o);
}

static int make_bundle(struct bundle *b, const char *file)
{
    const char *map = b->session->map;
    collect_all(b);
    int rc = b->anonymizer != NULL ? anonymize(b) : EXIT_OK;
    if (rc == EXIT_OK)
        rc = write_readme(b);
    if (rc == EXIT_OK && map != NULL)
        rc = bundle_write_map(b->anonymizer, map);
    if (rc != EXIT_OK)
        return rc;
    rc = pack(b, file);
    if (rc != EXIT_OK && map != NULL)
        unlink(map);
    return rc;
}

static int support_bundle(struct session *s)
{
    char name[PATH_MAX];
    struct bundle b = {.session = s};
    const char *tmp = getenv("TMPDIR"), *file = s->argc > 0 ? s->argv[0] : name;
    default_name(s->anonymize, name);
    if (s->map != NULL && !s->anonymize)
        return complain(EXIT_USAGE, "--map goes with --anonymize");
    int rc = check_absent(file);
    if (rc == EXIT_OK && s->map != NULL)
        rc = check_absent(s->map);
    if (rc != EXIT_OK)
        return rc;
    if (s->anonymize && anonymizer_new(&b.anonymizer) != FAB_OK)
        return complain(EXIT_FAILED, "out of memory");
    if ((size_t)snprintf(b.folder, sizeof b.folder, "%s/fabricctl-XXXXXX",
                         tmp != NULL ? tmp : "/tmp") < sizeof b.folder &&
        mkdtemp(b.folder) != NULL) {
        rc = make_bundle(&b, file);
        remove_parts(&b);
    } else {
        rc = complain(EXIT_FAILED, "%s: %s", b.folder, strerror(errno));
    }
    if (rc == EXIT_OK)
        say_result(&b, file);
    anonymizer_free(b.anonymizer);
    if (rc != EXIT_OK || !b.no_manager)
        return rc;
    return complain(EXIT_UNAVAILABLE,
                    "no manager answered, so the bundle has only facts about this machine");
}

const struct cmd cmd_support_bundle = {
    .noun = "support-bundle",
    .args = "[FILE] [--anonymize [--map FILE]]",
    .summary = "collect what a report about a fault needs",
    .max_args = 1,
    .options = "zq",
    .json = "file:text left_out:u32 anonymized:bool replaced?:{ *:u32 } map?:text",
    .run = support_bundle,
};
