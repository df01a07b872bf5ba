/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes the restore of backups. Each input is used twice: as a whole backup file, and as the
 * decrypted contents of a backup file. Each time, the restore must succeed, or must fail with a
 * message and leave the state directory unchanged. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "fabricd/store/backup.h"
#include "fabricd/store/container.h"
#include "libfabmgr/base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char passphrase[] = "a passphrase for tests";
static char folder[64], state[80], file[80];

static unsigned empty_folder(const char *path)
{
    char name[400];
    unsigned count = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, "lock") != 0)
            count++;
        unlink(name);
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

static void clean_up(void)
{
    empty_folder(state);
    rmdir(state);
    empty_folder(folder);
    rmdir(folder);
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "%s/fuzz-backup-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(folder) == NULL || atexit(clean_up) != 0)
        abort();
    snprintf(state, sizeof state, "%s/state", folder);
    snprintf(file, sizeof file, "%s/backup", folder);
    log_init((enum log_level)(LOG_LEVEL_ERROR - 1));
}

static void restore(void)
{
    char why[1000] = "";
    struct store_backup_result result;
    const struct store_backup b = {
        .dir = state, .file = file, .passphrase = passphrase, .account = "fuzz"};
    int status = store_restore(&b, &result, why, sizeof why);
    unsigned left = empty_folder(state);
    if (status != FAB_OK && (why[0] == '\0' || left > 0))
        abort(); /* the restore failed without a message, or left files in the state directory */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct container *c = NULL;
    if (folder[0] == '\0')
        make_folder();
    /* the input as a backup file; its number of key iterations becomes 1, so that the test is
     * fast */
    FILE *f = fopen(file, "w");
    if (f == NULL || (size > 0 && fwrite(data, size, 1, f) != 1))
        abort();
    if (size > 24 && (fseek(f, 20, SEEK_SET) != 0 || fwrite("\0\0\0\1", 4, 1, f) != 1))
        abort();
    fclose(f);
    restore();
    /* the input as the decrypted contents of a backup file */
    f = fopen(file, "w");
    if (f == NULL || container_create(f, passphrase, 1, &c) != FAB_OK ||
        container_write(c, data, size) != FAB_OK || container_finish(c) != FAB_OK)
        abort();
    container_free(c);
    fclose(f);
    restore();
    return 0;
}
