/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl backup`. The manager encrypts its state with a key that fabricctl derives
 * from the passphrase; fabricctl never sends the passphrase. fabricctl writes the backup under a
 * temporary name, and renames the file when it is complete. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/passphrase.h"
#include "fabric/v1/backup.pb-c.h"

/* parameters of scrypt (backup.proto) */
#define SCRYPT_N (1u << 17)
#define SCRYPT_R 8
#define SCRYPT_P 1
#define SCRYPT_MEMORY_MOST (UINT64_C(200) << 20)
#define PROGRESS_AFTER_S 1

/* ---- the file -------------------------------------------------------------------------------- */

/* temporary name of the backup file, which on_signal removes; "": there is no such file */
static char part[PATH_MAX];

static void on_signal(int signo)
{
    unlink(part);
    signal(signo, SIG_DFL);
    raise(signo);
}

struct sink {
    FILE *to;
    /* errno of the first write that failed; 0: no write has failed */
    int error;
    uint64_t size, got; /* size of the whole backup, and number of bytes received so far */
    char time[40];
    uint32_t files;
    bool has_settings;
    uint64_t history_bytes; /* size of the history of counters, which is not in the backup */
    /* started: when the transfer began; shown: when the last progress line was printed */
    time_t started, shown;
    bool progress; /* true: a progress line was printed, and must be erased at the end */
};

static int sink_open(struct sink *s, const char *file)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    char name[PATH_MAX];
    *s = (struct sink){.started = time(NULL)};
    if ((size_t)snprintf(name, sizeof name, "%s.XXXXXX", file) >= sizeof name)
        return complain(EXIT_FAILED, "%s: the name is too long", file);
    int fd = mkostemp(name, O_CLOEXEC); /* the file has mode 0600 */
    if (fd < 0)
        return complain(EXIT_FAILED, "%s cannot be written: %s", file, strerror(errno));
    memcpy(part, name, sizeof part);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], on_signal);
    /* If the file would exceed the size limit of the process (RLIMIT_FSIZE), the kernel sends
     * SIGXFSZ, which ends the process. If the signal is ignored, write(2) returns an error
     * instead. */
    signal(SIGXFSZ, SIG_IGN);
    s->to = fdopen(fd, "w");
    if (s->to != NULL)
        return EXIT_OK;
    close(fd);
    unlink(part);
    return complain(EXIT_FAILED, "out of memory");
}

/* Closes the file. `rc` is the exit code so far. If `rc` is EXIT_OK, renames the file to its final
 * name; otherwise removes the file. Returns the exit code of the command. */
static int sink_close(struct sink *s, const char *file, int rc)
{
    if (s->progress)
        fputs("\r\033[K", stderr);
    if (s->error == 0 && (fflush(s->to) != 0 || fsync(fileno(s->to)) != 0))
        s->error = errno;
    if (fclose(s->to) != 0 && s->error == 0)
        s->error = errno;
    if (rc == EXIT_OK && s->error == 0 && s->got != s->size)
        rc = complain(EXIT_FAILED, "the backup is not complete: %" PRIu64 " of %" PRIu64 " bytes",
                      s->got, s->size);
    if (rc == EXIT_OK && s->error == 0 && rename(part, file) != 0)
        s->error = errno;
    if (rc == EXIT_OK && s->error != 0)
        rc = complain(EXIT_FAILED, "%s cannot be written: %s", file, strerror(s->error));
    if (rc != EXIT_OK)
        unlink(part);
    return rc;
}

static void show_progress(struct sink *s)
{
    time_t now = time(NULL);
    if (now <= s->started + PROGRESS_AFTER_S || now == s->shown || s->size == 0 ||
        !isatty(STDERR_FILENO))
        return;
    s->shown = now;
    s->progress = true;
    fprintf(stderr, "\r%3" PRIu64 " %% of %.1f MiB ", s->got * 100 / s->size,
            (double)s->size / (1 << 20));
}

static bool each(void *ctx, const ProtobufCMessage *message)
{
    struct sink *s = ctx;
    const Fabric__V1__BackupResponse *r = (const Fabric__V1__BackupResponse *)message;
    if (r->data.len > 0 && fwrite(r->data.data, 1, r->data.len, s->to) != r->data.len)
        s->error = errno;
    s->got += r->data.len;
    s->size = r->size;
    s->files = r->files;
    s->has_settings = r->has_settings;
    s->history_bytes = r->history_bytes;
    snprintf(s->time, sizeof s->time, "%s", r->time);
    show_progress(s);
    return s->error == 0;
}

/* ---- the key --------------------------------------------------------------------------------- */

struct key {
    uint8_t salt[16], key[32];
};

static int derive_key(const char *passphrase, struct key *ret)
{
    if (RAND_bytes(ret->salt, sizeof ret->salt) != 1 ||
        EVP_PBE_scrypt(passphrase, strlen(passphrase), ret->salt, sizeof ret->salt, SCRYPT_N,
                       SCRYPT_R, SCRYPT_P, SCRYPT_MEMORY_MOST, ret->key, sizeof ret->key) != 1)
        return complain(EXIT_FAILED, "the key of the backup cannot be derived: out of memory");
    return EXIT_OK;
}

static int new_key(const struct session *s, struct key *ret)
{
    char passphrase[PASSPHRASE_MOST + 1];
    int rc = passphrase_read(s->passphrase_file, true, passphrase);
    if (rc == EXIT_OK)
        rc = derive_key(passphrase, ret);
    OPENSSL_cleanse(passphrase, sizeof passphrase);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int receive(struct session *s, struct key *key, struct sink *sink)
{
    Fabric__V1__BackupRequest q = FABRIC__V1__BACKUP_REQUEST__INIT;
    struct fab_client_error error;
    q.salt = (ProtobufCBinaryData){sizeof key->salt, key->salt};
    q.key = (ProtobufCBinaryData){sizeof key->key, key->key};
    fab_client_stream(s->client, s->cmd->method, &q.base, &fabric__v1__backup_response__descriptor,
                      each, sink, &error);
    return error.code == FAB_GRPC_OK ? EXIT_OK : say_error(&error);
}

static void say_result(struct out *o, const char *file, const struct sink *s)
{
    out_record(o, NULL);
    out_text(o, "file", "Backup", OUT_PLAIN, file);
    out_text(o, "time", "Time", OUT_PLAIN, s->time);
    out_number(o, "files", "Files", OUT_PLAIN, s->files);
    out_number(o, "bytes", "Bytes", OUT_PLAIN, s->size);
    out_bool(o, "has_settings", NULL, OUT_PLAIN, s->has_settings);
    out_number(o, "history_bytes", NULL, OUT_PLAIN, s->history_bytes);
    if (!s->has_settings)
        out_note(o, OUT_PLAIN, "It has no settings file: the manager runs without one.");
    if (s->history_bytes > 0)
        out_note(o, OUT_PLAIN,
                 "It does not have the history of counters (counters.db, %.1f MiB); "
                 "\"Backups\" in fabricd(8) says how to copy it.",
                 (double)s->history_bytes / (1 << 20));
    out_note(o, OUT_DIM,
             "It can only be restored with the passphrase; keep a copy of that elsewhere. "
             "'fabricctl restore %s --verify' checks the backup.",
             file);
    out_record_end(o);
}

static int backup(struct session *s)
{
    const char *file = s->argv[0];
    struct sink sink;
    struct key key;
    int rc = check_absent(file);
    if (rc == EXIT_OK)
        rc = new_key(s, &key);
    if (rc != EXIT_OK)
        return rc;
    rc = sink_open(&sink, file);
    if (rc == EXIT_OK)
        rc = sink_close(&sink, file, receive(s, &key, &sink));
    OPENSSL_cleanse(&key, sizeof key);
    if (rc == EXIT_OK)
        say_result(s->out, file, &sink);
    return rc;
}

const struct cmd cmd_backup = {
    .noun = "backup",
    .args = "FILE [--passphrase-file FILE] [--reason TEXT]",
    .summary = "write an encrypted backup of the manager's state",
    .min_args = 1,
    .max_args = 1,
    .options = "pr",
    .method = "fabric.v1.FabricService/Backup",
    .json = "file:text time:text files:u32 bytes:u64 has_settings:bool history_bytes:u64",
    .run = backup,
};
