/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encrypted backups of a state directory: the database, the key files, and the settings file. The
 * state directory may be that of a manager that runs: the database in the backup is the state of
 * one moment.
 */
#ifndef FABRICD_STORE_BACKUP_H
#define FABRICD_STORE_BACKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_PASSPHRASE_LEAST 12
#define STORE_PASSPHRASE_MOST 1000

/* Reads a passphrase: the first line of the file, without its end. name "-": of the standard input.
 * Errors, each with a sentence in why[]: DENIED (other users can read the file), RANGE (too short
 * or too long), IO. */
int store_passphrase_read(const char *name, char ret[STORE_PASSPHRASE_MOST + 1], char *why,
                          size_t why_len);

#define STORE_BACKUP_SALT 16
#define STORE_BACKUP_KEY 32
/* A key that was derived from a passphrase as container.h says. It is good for one backup only. */
struct store_backup_key {
    uint8_t salt[STORE_BACKUP_SALT], key[STORE_BACKUP_KEY];
};

struct store_backup {
    const char *dir;  /* the state directory */
    const char *file; /* the backup */
    const char *passphrase;
    /* store_backup_unnamed: used in place of the passphrase */
    const struct store_backup_key *key;
    /* store_backup_unnamed: when this function returns true, the backup ends with REFUSED; NULL: it
     * is not stopped. The function is called with `stop_ctx` on the thread of the backup. */
    bool (*stopped)(void *ctx);
    void *stop_ctx;
    /* store_backup: the settings file to include; NULL: none */
    const char *settings;
    /* store_restore: who restores, for the audit log */
    const char *account;
    /* store_restore: true: former files of the state directory are moved to a folder in it */
    bool replace;
};

#define STORE_BACKUP_TABLES 64
struct store_backup_result {
    unsigned files;
    uint64_t bytes;
    char made[32]; /* time of the backup, such as 2026-11-24T02:00:00Z */
    /* store_restore and store_backup_verify: version of fabricd and name of the host that made the
     * backup */
    char version[100], host[200];
    /* store_backup_verify: the tables of the database, and their numbers of rows */
    struct {
        char name[32];
        uint64_t rows;
    } table[STORE_BACKUP_TABLES];
    unsigned tables;
    /* name of the folder in the state directory that has the former files; "": there were none */
    char aside[40];
    bool settings; /* the backup has a settings file */
};

/* Writes the file, which must not exist, with mode 0600. After an error there is no file. Errors,
 * each with a sentence in why[]: EXISTS, NOT_FOUND (there is no database), IO, NOMEM, DENIED,
 * FORMAT. */
int store_backup(const struct store_backup *b, struct store_backup_result *ret, char *why,
                 size_t why_len);

/* Like store_backup, but writes a file without a name in the state directory, which vanishes when
 * it is closed, also if the process is killed. b->file only names the backup in messages. On
 * success the caller closes *ret_fd, which is at the beginning of the file. */
int store_backup_unnamed(const struct store_backup *b, struct store_backup_result *ret, int *ret_fd,
                         char *why, size_t why_len);

/* Restores the files into the state directory, of which no manager may run. First reads and checks
 * the whole backup, so that a backup that cannot be used changes nothing. The settings are not
 * activated: they become the file fabricd.yaml.restored. Appends a row to the audit log. Errors,
 * each with a sentence in why[]: EXISTS (the directory has a database or keys, and `replace` is
 * false), BUSY, UNSUPPORTED (of a newer fabricd), and the errors of container_read and
 * store_open. */
int store_restore(const struct store_backup *b, struct store_backup_result *ret, char *why,
                  size_t why_len);

/* Reads and checks the whole backup, also its database, and changes nothing. Needs no state
 * directory: the database is copied to a folder in $TMPDIR, or /tmp, and the keys are not. Returns
 * the errors of container_read, or FORMAT, IO or UNSUPPORTED, each with a sentence in why[]. */
int store_backup_verify(const struct store_backup *b, struct store_backup_result *ret, char *why,
                        size_t why_len);

/* Returns true if a restore was interrupted while it moved files. */
bool store_restore_unfinished(const char *dir, char *why, size_t why_len);

#endif
