/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes and restores backups of the state directory (--backup, --restore).
 */
#include "fabricd/maintenance.h"

#include <inttypes.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/store/backup.h"
#include "libfabmgr/base/status.h"

#define WHY_LEN 1000

static void name_account(char *text, size_t len)
{
    const struct passwd *p = getpwuid(getuid());
    if (p != NULL)
        snprintf(text, len, "%s (uid %u)", p->pw_name, (unsigned)getuid());
    else
        snprintf(text, len, "uid %u", (unsigned)getuid());
}

/* If there is a history of counters, prints that the backup does not contain it, and how to copy
 * it. */
static void print_history(const char *dir)
{
    char path[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(path, sizeof(path), "%s/counters.db", dir) >= sizeof(path) ||
        stat(path, &st) != 0)
        return;
    printf("It does not have the history of counters (%s, %.1f MiB). To keep the history, too, "
           "run: sqlite3 %s \"VACUUM INTO 'FILE'\"\n",
           path, (double)st.st_size / (1 << 20), path);
}

static void print_backup(const struct store_backup *b, const struct store_backup_result *r)
{
    printf("%s: backup of %s at %s, %u files, %.1f MiB\n", b->file, b->dir, r->made, r->files,
           (double)r->bytes / (1 << 20));
    if (!r->settings)
        printf("It has no settings file: name it with -f.\n");
    print_history(b->dir);
    printf("It can only be restored with the passphrase; keep a copy of that elsewhere.\n");
}

static void print_restore(const struct store_backup *b, const struct store_backup_result *r)
{
    printf("%s: restored %u files from the backup of %s\n", b->dir, r->files, r->made);
    if (r->aside[0] != '\0')
        printf("The former files are in %s/%s.\n", b->dir, r->aside);
    if (r->settings)
        printf("The settings are in %s/fabricd.yaml.restored; compare them with those of this "
               "machine. Files that they name, such as TLS keys, are not in the backup.\n",
               b->dir);
    printf("Before you start fabricd here, stop the manager on %s, of which this is the backup.\n",
           r->host[0] != '\0' ? r->host : "the other machine");
}

static void print_verified(const struct store_backup *b, const struct store_backup_result *r)
{
    printf("%s: backup of %s at %s by fabricd %s, %u files, %.1f MiB; complete and not changed\n",
           b->file, r->host[0] != '\0' ? r->host : "an unknown host", r->made, r->version, r->files,
           (double)r->bytes / (1 << 20));
    printf("It has %s.\n", r->settings ? "a settings file" : "no settings file");
    printf("Rows of its database (tables without rows are not listed):\n");
    for (unsigned i = 0; i < r->tables; i++)
        if (r->table[i].rows > 0)
            printf("  %-20s %10" PRIu64 "\n", r->table[i].name, r->table[i].rows);
}

int maintenance_run(const struct options *o, const struct config *c)
{
    char passphrase[STORE_PASSPHRASE_MOST + 1] = "", why[WHY_LEN] = "", account[200];
    struct store_backup_result result;
    name_account(account, sizeof(account));
    const struct store_backup b = {.dir = c->state_dir,
                                   .file = o->backup != NULL ? o->backup : o->restore,
                                   .passphrase = passphrase,
                                   .settings = o->config_file,
                                   .account = account,
                                   .replace = o->replace};
    int status = store_passphrase_read(o->passphrase_file, passphrase, why, sizeof(why));
    if (status == FAB_OK)
        status = o->backup != NULL ? store_backup(&b, &result, why, sizeof(why))
                 : o->verify       ? store_backup_verify(&b, &result, why, sizeof(why))
                                   : store_restore(&b, &result, why, sizeof(why));
    OPENSSL_cleanse(passphrase, sizeof(passphrase));
    if (status != FAB_OK) {
        fprintf(stderr, "fabricd: %s\n", why);
        return EXIT_FAILURE;
    }
    (o->backup != NULL ? print_backup : o->verify ? print_verified : print_restore)(&b, &result);
    return EXIT_SUCCESS;
}
