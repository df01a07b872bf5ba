/* SPDX-License-Identifier: BSD-3-Clause */
/* Restores backups (backup.c). A restore first writes the files to the folder restore.new of the
 * state directory. It then opens this folder like a state directory, so that store_open checks and
 * migrates the database, and appends a row to the audit log in this folder. Only then does the
 * restore rename the folder to restore.moving, move the existing files away, and move the restored
 * files into the state directory. fabricd does not start while there is a folder restore.moving. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/store/audit.h"
#include "fabricd/store/backup.h"
#include "fabricd/store/backup_files.h"
#include "fabricd/store/container.h"
#include "fabricd/store/lock.h"
#include "fabricd/store/schema.h"
#include "fabricd/store/sizes.h"
#include "libfabmgr/base/status.h"

#define STAGE "restore.new"
#define MOVING "restore.moving"
#define RESTORED_SETTINGS "fabricd.yaml.restored"

struct load {
    const struct store_backup *b;
    struct container *from;
    struct store_backup_result *result;
    char stage[PATH_MAX], moving[PATH_MAX];
    bool manifest, database; /* true: the entry with the manifest, or with the database, was read */
    /* true: the backup is only verified. The database is copied to a temporary folder, and nothing
     * is restored. */
    bool verify;
    char *why;
    size_t why_len;
};

/* The files of a state directory that a restore replaces. */
static const char *const state_files[] = {BACKUP_DATABASE,
                                          BACKUP_DATABASE "-wal",
                                          BACKUP_DATABASE "-shm",
                                          BACKUP_DATABASE "-journal",
                                          "audit_head",
                                          "audit_key",
                                          "sa_key",
                                          "m_key",
                                          "cc_key",
                                          RESTORED_SETTINGS};
#define STATE_FILES (sizeof(state_files) / sizeof(*state_files))

static int say(struct load *l, int status, const char *path, const char *what)
{
    snprintf(l->why, l->why_len, "%s%s%s", path, path[0] != '\0' ? ": " : "", what);
    return status;
}

static bool join(char path[PATH_MAX], const char *dir, const char *name)
{
    return (size_t)snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX;
}

/* Removes a folder and its files. */
static void remove_folder(const char *path)
{
    char file[PATH_MAX];
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            join(file, path, e->d_name))
            unlink(file);
    if (dir != NULL)
        closedir(dir);
    rmdir(path);
}

/* ---- reading the backup ---- */

static int get(struct load *l, void *bytes, size_t len)
{
    return container_read(l->from, bytes, len, l->why, l->why_len);
}

/* Returns the name of the file in which an entry is stored. Returns NULL if backups have no entry
 * of this name. */
static const char *known_name(const char *name)
{
    for (size_t i = 0; i < BACKUP_KEYS; i++)
        if (strcmp(name, backup_keys[i]) == 0)
            return name;
    if (strcmp(name, BACKUP_SETTINGS) == 0)
        return RESTORED_SETTINGS;
    return strcmp(name, BACKUP_DATABASE) == 0 ? name : NULL;
}

static int take_manifest(struct load *l, uint64_t len)
{
    char text[BACKUP_MANIFEST_MOST + 1] = "";
    long long schema = 0;
    if (len > BACKUP_MANIFEST_MOST)
        return say(l, FAB_E_FORMAT, "", "the backup is damaged: its manifest is too long");
    int status = get(l, text, len);
    if (status != FAB_OK)
        return status;
    if (sscanf(text, "schema %lld\ntime %31s\nversion %99s\nhost %199s\n", &schema, l->result->made,
               l->result->version, l->result->host) < 3)
        return say(l, FAB_E_FORMAT, "", "the backup is damaged: its manifest has another form");
    if (schema > schema_steps.count) {
        snprintf(l->why, l->why_len,
                 "the database of this backup has schema version %lld, and this fabricd knows "
                 "versions up to %d; restore it with fabricd %s or newer",
                 schema, schema_steps.count, l->result->version);
        return FAB_E_UNSUPPORTED;
    }
    l->manifest = true;
    return FAB_OK;
}

static int skip_entry(struct load *l, uint64_t left)
{
    char bytes[65536];
    int status = FAB_OK;
    while (left > 0 && status == FAB_OK) {
        size_t n = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
        status = get(l, bytes, n);
        left -= n;
    }
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return status;
}

static int copy_entry(struct load *l, const char *path, uint64_t left)
{
    char bytes[65536];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return say(l, errno == EEXIST ? FAB_E_FORMAT : FAB_E_IO, path, strerror(errno));
    int status = FAB_OK;
    while (left > 0 && status == FAB_OK) {
        size_t n = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
        status = get(l, bytes, n);
        for (size_t at = 0; at < n && status == FAB_OK;) {
            ssize_t done = write(fd, bytes + at, n - at);
            if (done < 0 && errno == EINTR)
                continue;
            if (done <= 0)
                status = say(l, FAB_E_IO, path, strerror(errno));
            at += done > 0 ? (size_t)done : 0;
        }
        left -= n;
    }
    if (status == FAB_OK && fsync(fd) != 0)
        status = say(l, FAB_E_IO, path, strerror(errno));
    close(fd);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return status;
}

/* Reads one entry of the backup. *ret_end: true if the list of entries has ended. */
static int take_entry(struct load *l, bool *ret_end)
{
    uint8_t length, size[8];
    char name[256] = "", path[PATH_MAX];
    uint64_t bytes = 0;
    int status = get(l, &length, 1);
    if (status == FAB_OK && length == 0) {
        *ret_end = true;
        return FAB_OK;
    }
    if (status == FAB_OK)
        status = get(l, name, length);
    if (status == FAB_OK)
        status = get(l, size, sizeof(size));
    if (status != FAB_OK)
        return status;
    for (int i = 0; i < 8; i++)
        bytes = bytes << 8 | size[i];
    if (!l->manifest)
        return strcmp(name, BACKUP_MANIFEST) == 0
                   ? take_manifest(l, bytes)
                   : say(l, FAB_E_FORMAT, "", "the backup is damaged: it has no manifest");
    const char *as = known_name(name);
    if (as == NULL || !join(path, l->stage, as))
        return say(l, FAB_E_UNSUPPORTED, "",
                   "the backup has files that this fabricd does not know; restore it with the "
                   "fabricd that made it, or a newer one");
    l->database |= strcmp(name, BACKUP_DATABASE) == 0;
    l->result->settings |= strcmp(name, BACKUP_SETTINGS) == 0;
    l->result->files++;
    l->result->bytes += bytes;
    return l->verify && strcmp(name, BACKUP_DATABASE) != 0 ? skip_entry(l, bytes)
                                                           : copy_entry(l, path, bytes);
}

static int read_backup(struct load *l)
{
    bool end = false;
    FILE *file = fopen(l->b->file, "re");
    if (file == NULL)
        return say(l, FAB_E_IO, l->b->file, strerror(errno));
    char why[400];
    int status = container_open(file, l->b->passphrase, &l->from, l->why, l->why_len);
    while (status == FAB_OK && !end)
        status = take_entry(l, &end);
    if (status == FAB_OK)
        status = container_end(l->from, l->why, l->why_len);
    if (status == FAB_OK && !l->database)
        status = say(l, FAB_E_FORMAT, "", "the backup is damaged: it has no database");
    container_free(l->from);
    fclose(file);
    if (status != FAB_OK) {
        snprintf(why, sizeof(why), "%s", l->why);
        snprintf(l->why, l->why_len, "%s: %s%s", l->b->file, why,
                 l->verify ? "" : "; the state directory is as it was");
    }
    return status;
}

/* ---- checks of the files, and the row of the audit log ---- */

static int open_stage(struct load *l)
{
    struct store *s = NULL;
    char text[80];
    snprintf(text, sizeof(text), "restored from a backup of %s", l->result->made);
    int status = store_open(l->stage, &s, l->why, l->why_len);
    if (status != FAB_OK)
        return status;
    const struct audit_row row = {.time_us = clock_unix_us(),
                                  .kind = AUDIT_NOTE,
                                  .text = {[AUDIT_ACCOUNT] = l->b->account,
                                           [AUDIT_METHOD] = "restore",
                                           [AUDIT_OBJECT] = l->b->file,
                                           [AUDIT_AFTER] = text}};
    status = store_put_audit(s, &row);
    store_flush(s);
    if (status == FAB_OK && store_written(s, store_mark(s)) != STORE_WRITTEN)
        status = FAB_E_IO;
    if (status != FAB_OK)
        say(l, status, l->stage, "the row of the audit log cannot be written");
    store_close(s);
    return status;
}

/* ---- moving the files ---- */

/* If root runs the restore, gives a file to the owner of the state directory, because the user of
 * fabricd could not read a file of root. */
static void give_away(const char *path, const struct stat *owner)
{
    if (geteuid() == 0 && lchown(path, owner->st_uid, owner->st_gid) != 0)
        log_warning("store", "%s keeps its owner: %s", path, strerror(errno));
}

static int move(struct load *l, const char *from_dir, const char *to_dir, const struct stat *owner)
{
    char from[PATH_MAX], to[PATH_MAX];
    for (size_t i = 0; i < STATE_FILES; i++) {
        if (!join(from, from_dir, state_files[i]) || !join(to, to_dir, state_files[i]))
            return say(l, FAB_E_LIMIT, to_dir, "the path is too long");
        if (access(from, F_OK) != 0)
            continue;
        give_away(from, owner);
        if (rename(from, to) != 0)
            return say(l, FAB_E_IO, to, strerror(errno));
    }
    int fd = open(to_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd >= 0 ? fsync(fd) : -1;
    if (fd >= 0)
        close(fd);
    return rc == 0 ? FAB_OK : say(l, FAB_E_IO, to_dir, strerror(errno));
}

/* Returns true if the state directory has one of the files that a restore replaces. */
static bool is_used(const char *dir)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < STATE_FILES; i++)
        if (join(path, dir, state_files[i]) && access(path, F_OK) == 0)
            return true;
    return false;
}

static int put_aside(struct load *l, const struct stat *owner)
{
    char path[PATH_MAX];
    struct tm utc;
    time_t now = time(NULL);
    if (!is_used(l->b->dir))
        return FAB_OK;
    strftime(l->result->aside, sizeof(l->result->aside), "replaced-%Y%m%dT%H%M%SZ",
             gmtime_r(&now, &utc));
    if (!join(path, l->b->dir, l->result->aside) || mkdir(path, 0700) != 0)
        return say(l, FAB_E_IO, path, strerror(errno));
    give_away(path, owner);
    return move(l, l->b->dir, path, owner);
}

static int move_all(struct load *l)
{
    struct stat owner;
    if (stat(l->b->dir, &owner) != 0 || rename(l->stage, l->moving) != 0)
        return say(l, FAB_E_IO, l->b->dir, strerror(errno));
    int status = put_aside(l, &owner);
    if (status == FAB_OK)
        status = move(l, l->moving, l->b->dir, &owner);
    char lock[PATH_MAX];
    if (join(lock, l->b->dir, "lock"))
        give_away(lock, &owner);
    if (status == FAB_OK)
        remove_folder(l->moving);
    return status;
}

bool store_restore_unfinished(const char *dir, char *why, size_t why_len)
{
    char path[PATH_MAX];
    if (!join(path, dir, MOVING) || access(path, F_OK) != 0)
        return false;
    snprintf(why, why_len,
             "%s: a restore of a backup was interrupted while it moved files; restore the backup "
             "again with --replace (former files are in %s/replaced-*)",
             path, dir);
    return true;
}

static int restore(struct load *l)
{
    if (!join(l->stage, l->b->dir, STAGE) || !join(l->moving, l->b->dir, MOVING))
        return say(l, FAB_E_LIMIT, l->b->dir, "the path is too long");
    if ((is_used(l->b->dir) || access(l->moving, F_OK) == 0) && !l->b->replace)
        return say(l, FAB_E_EXISTS, l->b->dir,
                   "this state directory has a database or keys; with --replace they are moved to "
                   "a folder in it");
    remove_folder(l->stage);
    if (mkdir(l->stage, 0700) != 0)
        return say(l, FAB_E_IO, l->stage, strerror(errno));
    int status = read_backup(l);
    if (status == FAB_OK)
        status = open_stage(l);
    if (status == FAB_OK) {
        remove_folder(l->moving); /* a restore that was interrupted may have left this folder */
        status = move_all(l);
    }
    remove_folder(l->stage);
    return status;
}

int store_restore(const struct store_backup *b, struct store_backup_result *ret, char *why,
                  size_t why_len)
{
    int lock = -1;
    *ret = (struct store_backup_result){0};
    struct load l = {.b = b, .result = ret, .why = why, .why_len = why_len};
    int status = lock_take(b->dir, &lock, why, why_len);
    if (status == FAB_E_BUSY) {
        size_t len = strlen(why);
        snprintf(why + len, why_len - len, "; stop it first ('systemctl stop fabricd')");
    }
    if (status != FAB_OK)
        return status;
    status = restore(&l);
    lock_release(lock);
    return status;
}

/* ---- verification ---- */

/* Checks the structure of the database. Returns OK, or FORMAT with the reason in l->why. */
static int check_database(struct load *l, sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    char what[300] = "";
    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        snprintf(what, sizeof(what), "%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    if (strcmp(what, "ok") == 0)
        return FAB_OK;
    snprintf(l->why, l->why_len, "%s: its database is damaged: %s", l->b->file,
             what[0] != '\0' ? what : sqlite3_errmsg(db));
    return FAB_E_FORMAT;
}

static void count_tables(sqlite3 *db, struct store_backup_result *ret)
{
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT "
                              "LIKE 'sqlite_%' ORDER BY name";
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
        while (sqlite3_step(stmt) == SQLITE_ROW && ret->tables < STORE_BACKUP_TABLES) {
            const char *name = (const char *)sqlite3_column_text(stmt, 0);
            snprintf(ret->table[ret->tables].name, sizeof(ret->table->name), "%s", name);
            ret->table[ret->tables++].rows = (uint64_t)sizes_count_rows(db, name);
        }
    sqlite3_finalize(stmt);
}

static int verify(struct load *l)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    int status = read_backup(l);
    if (status != FAB_OK)
        return status;
    if (!join(path, l->stage, BACKUP_DATABASE))
        return say(l, FAB_E_LIMIT, l->stage, "the path is too long");
    status = schema_open_reader(path, &db, l->why, l->why_len);
    if (status != FAB_OK)
        return status;
    status = check_database(l, db);
    if (status == FAB_OK)
        count_tables(db, l->result);
    sqlite3_close(db);
    return status;
}

int store_backup_verify(const struct store_backup *b, struct store_backup_result *ret, char *why,
                        size_t why_len)
{
    const char *tmp = getenv("TMPDIR");
    *ret = (struct store_backup_result){0};
    struct load l = {.b = b, .result = ret, .why = why, .why_len = why_len, .verify = true};
    if (!join(l.stage, tmp != NULL ? tmp : "/tmp", "fabricd-verify-XXXXXX"))
        return say(&l, FAB_E_LIMIT, "$TMPDIR", "the path is too long");
    if (mkdtemp(l.stage) == NULL)
        return say(&l, FAB_E_IO, l.stage, strerror(errno));
    int status = verify(&l);
    remove_folder(l.stage);
    return status;
}
