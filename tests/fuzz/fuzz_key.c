/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzzes files with keys. Any key file gives a key, or an error that names the file. Also fuzzes
 * the files m_key and guid2mkey. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/store/key.h"
#include "fabricd/store/m_key.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/m_key_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];

static void clean_up(void)
{
    char path[80];
    snprintf(path, sizeof path, "%s/key", folder);
    unlink(path);
    rmdir(folder);
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "%s/fuzz-key-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(folder) == NULL || atexit(clean_up) != 0)
        abort();
}

/* Fuzzes the file m_key. The ports of an accepted file must be in ascending order. */
static void parse_m_keys(const uint8_t *data, size_t size)
{
    struct store_m_key k = {0};
    char why[512] = "";
    int r = store_m_key_parse(STORE_KEY_OF_PORTS, (const char *)data, size, &k, why, sizeof why);
    if (r != FAB_OK && why[0] == '\0')
        abort(); /* the file was refused without a message */
    for (size_t i = 1; r == FAB_OK && i < k.count; i++)
        if (k.port[i - 1] >= k.port[i])
            abort();
    if (r == FAB_OK)
        store_m_key_fini(&k);
}

/* Fuzzes the file guid2mkey. An accepted file lists each GUID once, and the key of each GUID is
 * found. */
static void parse_list(const uint8_t *data, size_t size)
{
    struct fab_m_key_list *l = NULL;
    struct fab_line_error e = {0};
    int r = fab_policy_m_key_list_read((const char *)data, size, &l, &e);
    if (r == FAB_E_FORMAT && (e.line == 0 || e.message[0] == '\0'))
        abort(); /* the file was refused without a message */
    for (size_t i = 0; r == FAB_OK && i < l->count; i++)
        if (l->entry[i].port_guid == 0 ||
            (i > 0 && l->entry[i - 1].port_guid >= l->entry[i].port_guid) ||
            fab_policy_m_key_list_find(l, l->entry[i].port_guid) != l->entry[i].m_key)
            abort();
    fab_policy_m_key_list_unref(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[80], why[300] = "";
    uint64_t key;
    if (folder[0] == '\0')
        make_folder();
    snprintf(path, sizeof path, "%s/key", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
    if (store_key(folder, "key", &key, why, sizeof why) != FAB_OK && strstr(why, path) == NULL)
        abort(); /* the file was refused without a message */
    parse_m_keys(data, size);
    parse_list(data, size);
    return 0;
}
