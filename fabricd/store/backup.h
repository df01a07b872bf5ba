/* SPDX-License-Identifier: BSD-3-Clause */
/* Encrypted backups of a state directory: the database, the key files, and the settings file. A
 * backup can be made while the manager runs; it has the state of the database at one moment. */
#ifndef FABRICD_STORE_BACKUP_H
#define FABRICD_STORE_BACKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_PASSPHRASE_LEAST 12
#define STORE_PASSPHRASE_MOST 1000

/* Reads a passphrase: the first line of the file, without its line end. If `name` is "-", reads the
 * standard input. Errors, each with a sentence in why[]: DENIED (the group or other users may
 * access the file), RANGE (too short or too long), IO. */
int store_passphrase_read(const char *name, char ret[STORE_PASSPHRASE_MOST + 1], char *why,
                          size_t why_len);

#define STORE_BACKUP_SALT 16
#define STORE_BACKUP_KEY 32
/* A key that was derived from a passphrase as container.h describes. A key must be used for one
 * backup only. */
struct store_backup_key {
    uint8_t salt[STORE_BACKUP_SALT], key[STORE_BACKUP_KEY];
};

struct store_backup {
    const char *dir;  /* path of the state directory */
    const char *file; /* path of the backup file */
    const char *passphrase;
    /* only for store_backup_unnamed: the key that encrypts the backup; other functions use a
     * passphrase */
    const struct store_backup_key *key;
    /* only for store_backup_unnamed: when this function returns true, the backup ends with REFUSED.
     * NULL: the backup cannot be stopped. The function is called with `stop_ctx` on the thread of
     * the backup. */
    bool (*stopped)(void *ctx);
    void *stop_ctx;
    /* only for store_backup: the settings file that the backup contains; NULL: none */
    const char *settings;
    /* only for store_restore: name of the user who restores the backup, for the audit log */
    const char *account;
    /* only for store_restore; true: existing files of the state directory are moved to a new folder
     * in this directory */
    bool replace;
};

#define STORE_BACKUP_TABLES 64
struct store_backup_result {
    unsigned files;
    uint64_t bytes;
    char made[32]; /* time of the backup, such as 2026-11-24T02:00:00Z */
    /* only for store_restore and store_backup_verify: the version of fabricd that made the backup,
     * and the name of the host on which it ran */
    char version[100], host[200];
    /* only for store_backup_verify: for each table of the database, its name and its number of
     * rows */
    struct {
        char name[32];
        uint64_t rows;
    } table[STORE_BACKUP_TABLES];
    unsigned tables;
    /* only for store_restore: name of the folder in the state directory to which it moved the
     * existing files; "": there were none */
    char aside[40];
    bool settings; /* true: the backup contains a settings file */
};

/* Writes the backup to a new file with mode 0600. If this fails, the function removes the file that
 * it created. Errors, each with a sentence in why[]: EXISTS (the file exists already), NOT_FOUND
 * (there is no database), LIMIT (a path is too long), IO, NOMEM, DENIED, FORMAT. */
int store_backup(const struct store_backup *b, struct store_backup_result *ret, char *why,
                 size_t why_len);

/* Like store_backup, but writes a file without a name in the state directory. The file vanishes
 * when it is closed, or when the process is killed. b->file is only the name of the backup in
 * messages. On success, *ret_fd is at the beginning of the file, and the caller must close it. */
int store_backup_unnamed(const struct store_backup *b, struct store_backup_result *ret, int *ret_fd,
                         char *why, size_t why_len);

/* Restores the files into the state directory. No manager may use this directory meanwhile. The
 * function first reads and checks the whole backup, so that an unusable backup changes nothing. The
 * settings are stored as fabricd.yaml.restored and not activated. Appends a row to the audit log.
 * Errors, each with a sentence in why[]: EXISTS (the directory has a database or keys, and
 * `replace` is false), BUSY, UNSUPPORTED (the backup is of a newer fabricd), and the errors of
 * container_open, container_read and store_open. */
int store_restore(const struct store_backup *b, struct store_backup_result *ret, char *why,
                  size_t why_len);

/* Reads and checks the whole backup, including its database, and changes nothing. Needs no state
 * directory: the database is copied to a folder in $TMPDIR, or in /tmp; the keys are not copied.
 * Returns OK, the errors of container_open and container_read, FORMAT, IO, LIMIT (the path of
 * $TMPDIR is too long) or UNSUPPORTED; each error has a sentence in why[]. */
int store_backup_verify(const struct store_backup *b, struct store_backup_result *ret, char *why,
                        size_t why_len);

/* Returns true if a restore was interrupted while it moved files into the directory. In this case,
 * why[] says what to do. */
bool store_restore_unfinished(const char *dir, char *why, size_t why_len);

#endif
