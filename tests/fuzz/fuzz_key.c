/* SPDX-License-Identifier: BSD-3-Clause */
/* Key files: any content gives a key or an error with the name of the file; and the file m_key. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/store/key.h"
#include "fabricd/store/m_key.h"
#include "libfabmgr/base/status.h"

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

/* The file m_key: numbers, secrets, and ports in ascending order. */
static void parse_m_keys(const uint8_t *data, size_t size)
{
    struct store_m_key k = {0};
    char why[512] = "";
    int r = store_m_key_parse(STORE_KEY_OF_PORTS, (const char *)data, size, &k, why, sizeof why);
    if (r != FAB_OK && why[0] == '\0')
        abort(); /* refused without a message */
    for (size_t i = 1; r == FAB_OK && i < k.count; i++)
        if (k.port[i - 1] >= k.port[i])
            abort();
    if (r == FAB_OK)
        store_m_key_fini(&k);
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
        abort(); /* refused without a message */
    parse_m_keys(data, size);
    return 0;
}
