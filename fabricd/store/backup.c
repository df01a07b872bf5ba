/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes backups. A backup is an encrypted file (container.h) of entries. An entry consists of the
 * length of its name (1 byte), the name, the length of its content (8 bytes), and the content. A
 * name of length 0 ends the list of entries.
 *
 * The backup reads the file audit_head before the database. A verification of the audit log accepts
 * rows after the head in this file, but reports an error if the head is beyond the last row.
 */
#include "fabricd/store/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabricd/store/backup_files.h"
#include "fabricd/store/container.h"
#include "fabricd/store/key.h"
#include "fabricd/store/schema.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/version.h"

#define SETTINGS_MOST (16 << 20)
/* number of steps of SQLite's virtual machine (some milliseconds) between two calls of stopped() */
#define PROGRESS_STEPS 100000

/* ---- the passphrase ---- */

static int refuse_passphrase(int status, const char *name, const char *what, char *why,
                             size_t why_len)
{
    snprintf(why, why_len, "passphrase file %s: %s", name, what);
    return status;
}

int store_passphrase_read(const char *name, char ret[STORE_PASSPHRASE_MOST + 1], char *why,
                          size_t why_len)
{
    char line[STORE_PASSPHRASE_MOST + 2] = "";
    struct stat st;
    bool is_stdin = strcmp(name, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(name, "re");
    if (file == NULL)
        return refuse_passphrase(FAB_E_IO, name, strerror(errno), why, why_len);
    int status = FAB_OK;
    if (!is_stdin && fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) &&
        (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        status = refuse_passphrase(FAB_E_DENIED, name,
                                   "other users can read or write it; run 'chmod 600' on it", why,
                                   why_len);
    else if (fgets(line, sizeof(line), file) == NULL)
        line[0] = '\0';
    if (!is_stdin)
        fclose(file);
    size_t len = strcspn(line, "\r\n");
    if (status == FAB_OK && (len < STORE_PASSPHRASE_LEAST || len > STORE_PASSPHRASE_MOST)) {
        status = FAB_E_RANGE;
        snprintf(why, why_len, "passphrase file %s: the first line has %s %d characters", name,
                 len < STORE_PASSPHRASE_LEAST ? "fewer than" : "more than",
                 len < STORE_PASSPHRASE_LEAST ? STORE_PASSPHRASE_LEAST : STORE_PASSPHRASE_MOST);
    }
    if (status == FAB_OK) {
        memcpy(ret, line, len);
        ret[len] = '\0';
    }
    OPENSSL_cleanse(line, sizeof(line));
    return status;
}

static bool is_stopped(const struct store_backup *b)
{
    return b->stopped != NULL && b->stopped(b->stop_ctx);
}

/* ---- entries ---- */

struct save {
    const struct store_backup *b;
    struct container *to;
    struct store_backup_result *result;
    /* contents of the key files; NULL: there is no such file */
    char *key[BACKUP_KEYS];
    size_t key_len[BACKUP_KEYS];
    char *why;
    size_t why_len;
};

static int put(struct save *s, const void *bytes, size_t len)
{
    int status = container_write(s->to, bytes, len);
    if (status != FAB_OK)
        snprintf(s->why, s->why_len, "%s cannot be written: %s", s->b->file,
                 status == FAB_E_IO ? strerror(errno) : fab_base_status_text(status));
    return status;
}

static int put_head(struct save *s, const char *name, uint64_t len)
{
    uint8_t head[1 + BACKUP_NAME_MOST + 8];
    size_t n = strlen(name);
    head[0] = (uint8_t)n;
    memcpy(head + 1, name, n);
    for (int i = 0; i < 8; i++)
        head[1 + n + (size_t)i] = (uint8_t)(len >> (56 - 8 * i));
    s->result->files++;
    s->result->bytes += len;
    return put(s, head, n + 9);
}

static int put_entry(struct save *s, const char *name, const void *bytes, size_t len)
{
    int status = put_head(s, name, len);
    return status == FAB_OK ? put(s, bytes, len) : status;
}

static int stop(struct save *s)
{
    snprintf(s->why, s->why_len, "the backup was stopped");
    return FAB_E_REFUSED;
}

/* Puts the first `size` bytes of a file into the backup. Returns FORMAT if the file has become
 * shorter in the meantime, and REFUSED if the backup was stopped. Also returns IO, or an error of
 * put(). */
static int put_file(struct save *s, const char *name, int fd, uint64_t size)
{
    char bytes[65536];
    uint64_t left = size;
    int status = put_head(s, name, size);
    while (left > 0 && status == FAB_OK) {
        if (is_stopped(s->b))
            return stop(s);
        ssize_t n = read(fd, bytes, left < sizeof(bytes) ? (size_t)left : sizeof(bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            snprintf(s->why, s->why_len, "%s/%s cannot be read: %s", s->b->dir, name,
                     n < 0 ? strerror(errno) : "it became shorter");
            return n < 0 ? FAB_E_IO : FAB_E_FORMAT;
        }
        status = put(s, bytes, (size_t)n);
        left -= (uint64_t)n;
    }
    return status;
}

/* ---- what is saved ---- */

static int put_manifest(struct save *s, int64_t schema)
{
    char text[500], host[200] = "";
    struct tm utc;
    time_t now = time(NULL);
    gethostname(host, sizeof(host) - 1);
    strftime(s->result->made, sizeof(s->result->made), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    int len = snprintf(text, sizeof(text), "schema %lld\ntime %s\nversion %s\nhost %s\n",
                       (long long)schema, s->result->made, fab_base_version(), host);
    int status = put_entry(s, BACKUP_MANIFEST, text, (size_t)len);
    /* do not count the manifest, because it is not a file of the state directory */
    s->result->files--;
    return status;
}

static int read_keys(struct save *s)
{
    int status = FAB_OK;
    for (size_t i = 0; i < BACKUP_KEYS && status == FAB_OK; i++) {
        status = store_key_file_read(s->b->dir, backup_keys[i], &s->key[i], &s->key_len[i], s->why,
                                     s->why_len);
        if (status == FAB_E_NOT_FOUND)
            status = FAB_OK;
    }
    return status;
}

static int put_keys(struct save *s)
{
    int status = FAB_OK;
    for (size_t i = 0; i < BACKUP_KEYS && status == FAB_OK; i++)
        if (s->key[i] != NULL)
            status = put_entry(s, backup_keys[i], s->key[i], s->key_len[i]);
    return status;
}

static int put_settings(struct save *s)
{
    struct stat st;
    if (s->b->settings == NULL)
        return FAB_OK;
    int fd = open(s->b->settings, O_RDONLY | O_CLOEXEC);
    int status = FAB_OK;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > SETTINGS_MOST) {
        snprintf(s->why, s->why_len, "%s cannot be read: %s", s->b->settings,
                 fd < 0 ? strerror(errno) : "it is no regular file of at most 16 MiB");
        status = FAB_E_IO;
    }
    if (status == FAB_OK)
        status = put_file(s, BACKUP_SETTINGS, fd, (uint64_t)st.st_size);
    s->result->settings = status == FAB_OK;
    if (fd >= 0)
        close(fd);
    return status;
}

/* Reads the version of the schema. Returns FORMAT if the file is no database of fabricd. */
static int read_version(sqlite3 *db, int64_t *ret)
{
    static const char *const sql[] = {"PRAGMA application_id", "PRAGMA user_version"};
    int64_t number[2] = {0};
    for (int i = 0; i < 2; i++) {
        sqlite3_stmt *stmt = NULL;
        if (sqlite3_prepare_v2(db, sql[i], -1, &stmt, NULL) == SQLITE_OK &&
            sqlite3_step(stmt) == SQLITE_ROW)
            number[i] = sqlite3_column_int64(stmt, 0);
        sqlite3_finalize(stmt);
    }
    *ret = number[1];
    return number[0] == SCHEMA_APPLICATION_ID && number[1] > 0 ? FAB_OK : FAB_E_FORMAT;
}

static int on_progress(void *ctx)
{
    return is_stopped(ctx);
}

/* Writes the state of the database at one moment to a new file with the path `copy`. */
static int snapshot(struct save *s, const char *copy, int64_t *ret_schema)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    if ((size_t)snprintf(path, sizeof(path), "%s/" BACKUP_DATABASE, s->b->dir) >= sizeof(path) ||
        access(path, R_OK) != 0) {
        snprintf(s->why, s->why_len,
                 "%s: %s; name the state directory of the manager with --state-dir or -f", path,
                 strerror(errno));
        return FAB_E_NOT_FOUND;
    }
    int status = schema_open_reader(path, &db, s->why, s->why_len);
    if (status != FAB_OK)
        return status;
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", copy);
    sqlite3_progress_handler(db, PROGRESS_STEPS, on_progress, (void *)(uintptr_t)s->b);
    if (sql == NULL || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        snprintf(s->why, s->why_len, "%s cannot be copied to %s: %s", path, copy,
                 sqlite3_errmsg(db));
        status = is_stopped(s->b) ? stop(s) : FAB_E_IO;
    } else if ((status = read_version(db, ret_schema)) != FAB_OK) {
        snprintf(s->why, s->why_len, "%s is no database of fabricd", path);
    }
    sqlite3_free(sql);
    sqlite3_close(db);
    return status;
}

static int put_database(struct save *s, const char *copy)
{
    struct stat st;
    int fd = open(copy, O_RDONLY | O_CLOEXEC);
    int status = FAB_E_IO;
    if (fd >= 0 && fstat(fd, &st) == 0)
        status = put_file(s, BACKUP_DATABASE, fd, (uint64_t)st.st_size);
    else
        snprintf(s->why, s->why_len, "%s cannot be read: %s", copy, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

static int finish(struct save *s)
{
    const uint8_t end = 0;
    int status = put(s, &end, 1);
    if (status == FAB_OK && (status = container_finish(s->to)) != FAB_OK)
        snprintf(s->why, s->why_len, "%s cannot be written: %s", s->b->file, strerror(errno));
    return status;
}

static int create(struct save *s, FILE *file)
{
    const struct store_backup_key *k = s->b->key;
    int status = k != NULL ? container_create_keyed(file, k->salt, k->key, &s->to)
                           : container_create(file, s->b->passphrase, CONTAINER_LOG_N, &s->to);
    if (status != FAB_OK)
        snprintf(s->why, s->why_len, "%s cannot be written: %s", s->b->file,
                 status == FAB_E_IO ? strerror(errno) : fab_base_status_text(status));
    return status;
}

/* Writes the backup to a new file. copy: name of a temporary copy of the database */
static int save(struct save *s, FILE *file, const char *copy)
{
    int64_t schema = 0;
    int status = read_keys(s);
    if (status == FAB_OK)
        status = snapshot(s, copy, &schema);
    if (status == FAB_OK)
        status = create(s, file);
    if (status == FAB_OK)
        status = put_manifest(s, schema);
    if (status == FAB_OK)
        status = put_keys(s);
    if (status == FAB_OK)
        status = put_settings(s);
    if (status == FAB_OK)
        status = put_database(s, copy);
    if (status == FAB_OK)
        status = finish(s);
    container_free(s->to);
    for (size_t i = 0; i < BACKUP_KEYS; i++)
        OPENSSL_clear_free(s->key[i], s->key_len[i]);
    return status;
}

/* Removes copies of the database that killed processes left. The name of a copy has the id of the
 * process that made it. */
static void remove_leftovers(const char *dir)
{
    struct dirent *e;
    DIR *d = opendir(dir);
    while (d != NULL && (e = readdir(d)) != NULL) {
        int pid = 0, end = 0;
        if (sscanf(e->d_name, "backup-%9d.db%n", &pid, &end) == 1 && end > 0 && pid > 0 &&
            kill(pid, 0) != 0 && errno == ESRCH)
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d != NULL)
        closedir(d);
}

/* Writes the backup to an open file. */
static int write_backup(const struct store_backup *b, FILE *file, struct store_backup_result *ret,
                        char *why, size_t why_len)
{
    char copy[PATH_MAX];
    *ret = (struct store_backup_result){0};
    struct save s = {.b = b, .result = ret, .why = why, .why_len = why_len};
    if ((size_t)snprintf(copy, sizeof(copy), "%s/backup-%ld.db", b->dir, (long)getpid()) >=
        sizeof(copy)) {
        snprintf(why, why_len, "state directory %s: the path is too long", b->dir);
        return FAB_E_LIMIT;
    }
    remove_leftovers(b->dir);
    /* an earlier process with the same process id may have been killed, and have left this file */
    unlink(copy);
    int status = save(&s, file, copy);
    unlink(copy);
    return status;
}

int store_backup(const struct store_backup *b, struct store_backup_result *ret, char *why,
                 size_t why_len)
{
    int fd = open(b->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL) {
        snprintf(why, why_len, "%s cannot be made: %s%s", b->file, strerror(errno),
                 errno == EEXIST ? "; choose another name, or remove it first" : "");
        return errno == EEXIST ? FAB_E_EXISTS : FAB_E_IO;
    }
    int status = write_backup(b, file, ret, why, why_len);
    if (fclose(file) != 0 && status == FAB_OK) {
        snprintf(why, why_len, "%s cannot be written: %s", b->file, strerror(errno));
        status = FAB_E_IO;
    }
    if (status != FAB_OK)
        unlink(b->file);
    return status;
}

/* Opens a file without a name in the directory. If the file system does not support this, creates a
 * file and removes its name at once. */
static int open_unnamed(const char *dir)
{
    char path[PATH_MAX];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR) ||
        (size_t)snprintf(path, sizeof(path), "%s/backup-XXXXXX", dir) >= sizeof(path))
        return fd;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

int store_backup_unnamed(const struct store_backup *b, struct store_backup_result *ret, int *ret_fd,
                         char *why, size_t why_len)
{
    int fd = open_unnamed(b->dir);
    int second = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    FILE *file = second >= 0 ? fdopen(second, "w") : NULL;
    int status = file != NULL ? write_backup(b, file, ret, why, why_len) : FAB_E_IO;
    if (file == NULL || (fclose(file) != 0 && status == FAB_OK) || lseek(fd, 0, SEEK_SET) != 0) {
        snprintf(why, why_len, "%s cannot be written: %s", b->dir, strerror(errno));
        status = FAB_E_IO;
    }
    if (file == NULL && second >= 0)
        close(second);
    if (status == FAB_OK)
        *ret_fd = fd;
    else if (fd >= 0)
        close(fd);
    return status;
}
