/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files of a support bundle, and writes their content with pseudonyms. */
#include "cli/ctl/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"
#include "libfabmgr/base/status.h"

/* ---- names of this machine ------------------------------------------------------------------- */

/* Learns the name of a machine, with and without its domain. */
static void learn_host(struct anonymizer *a, const char *name, size_t len)
{
    char host[256];
    snprintf(host, sizeof host, "%.*s", (int)(len < sizeof host ? len : 0), name);
    anonymizer_learn(a, PSEUDONYM_HOST, host);
    host[strcspn(host, ".")] = '\0';
    /* do not learn a short name that begins with a digit: it can be the first number of an IP
     * address */
    if (host[0] < '0' || host[0] > '9')
        anonymizer_learn(a, PSEUDONYM_HOST, host);
}

void bundle_learn_here(struct anonymizer *a, const char *address)
{
    address = address != NULL ? address : getenv("FABRICCTL_SERVER");
    static const char *const variables[] = {"USER", "LOGNAME", "SUDO_USER"};
    const struct passwd *user = getpwuid(getuid());
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) == 0)
        learn_host(a, host, strlen(host));
    if (address != NULL && strncmp(address, "tls:", 4) == 0 && address[4] != '[')
        learn_host(a, address + 4, strcspn(address + 4, ":"));
    if (user != NULL)
        anonymizer_learn(a, PSEUDONYM_PERSON, user->pw_name);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (getenv(variables[i]) != NULL)
            anonymizer_learn(a, PSEUDONYM_PERSON, getenv(variables[i]));
}

/* ---- files ----------------------------------------------------------------------------------- */

static int complain_file(const char *path)
{
    return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
}

static int path_of(char path[PATH_MAX], const char *folder, const char *file)
{
    return (size_t)snprintf(path, PATH_MAX, "%s/%s", folder, file) < PATH_MAX
               ? EXIT_OK
               : complain(EXIT_FAILED, "%s: the path is too long", folder);
}

/* Reads a whole file. The caller frees *ret. */
static int read_file(const char *path, char **ret, size_t *ret_len)
{
    struct stat st;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &st) == 0;
    size_t len = good ? (size_t)st.st_size : 0, got = 0;
    good = good && (text = malloc(len + 1)) != NULL;
    while (good && got < len) {
        ssize_t n = read(fd, text + got, len - got);
        good = n >= 0;
        if (n == 0) /* the file has become shorter since fstat() */
            len = got;
        got += n > 0 ? (size_t)n : 0;
    }
    int rc = good ? EXIT_OK : complain_file(path);
    if (fd >= 0)
        close(fd);
    if (rc != EXIT_OK) {
        free(text);
        return rc;
    }
    *ret = text;
    *ret_len = len;
    return EXIT_OK;
}

static int write_file(const char *path, int flags, const struct fab_text *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (to == NULL)
        return complain_file(path);
    bool good = fwrite(fab_base_text_get(text), 1, text->len, to) == text->len;
    return fclose(to) == 0 && good ? EXIT_OK : complain_file(path);
}

int bundle_learn_part(struct anonymizer *a, const char *folder, const char *file)
{
    char path[PATH_MAX], *text = NULL;
    size_t len = 0;
    int rc = path_of(path, folder, file);
    if (rc == EXIT_OK)
        rc = read_file(path, &text, &len);
    if (rc == EXIT_OK)
        anonymizer_read(a, file, text, len);
    free(text);
    return rc;
}

static int refuse(int status, const char *file)
{
    return complain(EXIT_FAILED, "refused: %s cannot be anonymized: %s; the bundle was not written",
                    file,
                    status == FAB_E_DENIED   ? "a name or a GUID would be left in it"
                    : status == FAB_E_FORMAT ? "it is not valid JSON"
                                             : fab_base_status_text(status));
}

int bundle_replace_part(struct anonymizer *a, const char *folder, const char *file)
{
    struct fab_text to = {0};
    char path[PATH_MAX], *text = NULL;
    size_t len = 0;
    int rc = path_of(path, folder, file);
    if (rc == EXIT_OK)
        rc = read_file(path, &text, &len);
    if (rc == EXIT_OK) {
        anonymizer_write(a, file, text, len, &to);
        rc = anonymizer_status(a) == FAB_OK ? write_file(path, O_TRUNC, &to)
                                            : refuse(anonymizer_status(a), file);
    }
    free(text);
    fab_base_text_fini(&to);
    return rc;
}

int bundle_remove_part(const char *folder, const char *file)
{
    char path[PATH_MAX];
    int rc = path_of(path, folder, file);
    return rc == EXIT_OK && unlink(path) != 0 ? complain_file(path) : rc;
}

/* ---- texts ----------------------------------------------------------------------------------- */

#define README "README.txt"

void bundle_learn_text(struct anonymizer *a, const char *text)
{
    anonymizer_read(a, README, text, strlen(text));
}

void bundle_replace_text(struct anonymizer *a, char *text, size_t size)
{
    struct fab_text to = {0};
    anonymizer_write(a, README, text, strlen(text), &to);
    snprintf(text, size, "%s", fab_base_text_get(&to));
    fab_base_text_fini(&to);
}

int bundle_write_map(struct anonymizer *a, const char *file)
{
    struct fab_text table = {0};
    pseudonyms_table(anonymizer_pseudonyms(a), &table);
    int rc = table.status == FAB_OK ? write_file(file, O_CREAT | O_EXCL, &table)
                                    : complain(EXIT_FAILED, "out of memory");
    fab_base_text_fini(&table);
    return rc;
}

void bundle_say_replaced(struct out *o, struct anonymizer *a)
{
    static const struct {
        const char *key, *one, *many;
    } kinds[PSEUDONYM_KINDS] = {
        [PSEUDONYM_NODE] = {"nodes", "node", "nodes"},
        [PSEUDONYM_HOST] = {"machines", "machine", "machines"},
        [PSEUDONYM_PERSON] = {"users", "user or group", "users and groups"},
        [PSEUDONYM_CERTIFICATE] = {"certificates", "certificate", "certificates"},
        [PSEUDONYM_PARTITION] = {"partitions", "partition", "partitions"},
        [PSEUDONYM_CLASS] = {"classes", "traffic class", "traffic classes"},
        [PSEUDONYM_SERVICE] = {"services", "service", "services"},
        [PSEUDONYM_TEXT] = {"reasons", "reason", "reasons"},
        [PSEUDONYM_IPV4] = {"ipv4_addresses", "IPv4 address", "IPv4 addresses"},
        [PSEUDONYM_WORD] = {"words", "other word", "other words"},
        [PSEUDONYM_GUID] = {"guids", "GUID", "GUIDs"},
        [PSEUDONYM_PREFIX] = {"prefixes", "subnet prefix", "subnet prefixes"},
    };
    char text[400] = "nothing";
    size_t used = 0;
    out_record(o, "replaced");
    for (enum pseudonym_kind k = 0; k < PSEUDONYM_KINDS; k++) {
        uint32_t count = pseudonyms_count(anonymizer_pseudonyms(a), k);
        out_number(o, kinds[k].key, NULL, OUT_PLAIN, count);
        if (count > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu32 " %s",
                                     used > 0 ? ", " : "", count,
                                     count == 1 ? kinds[k].one : kinds[k].many);
    }
    out_record_end(o);
    out_text(o, NULL, "Replaced", OUT_PLAIN, text);
}
