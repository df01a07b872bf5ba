/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabricd/store/file_identity.h"

#include <sys/stat.h>

#include "libfabmgr/base/status.h"

int file_identity_take(struct file_identity *id, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return FAB_E_IO;
    *id = (struct file_identity){st.st_dev, st.st_ino};
    return FAB_OK;
}

bool file_identity_holds(const struct file_identity *id, const char *path)
{
    struct file_identity now;
    return file_identity_take(&now, path) == FAB_OK && now.device == id->device &&
           now.inode == id->inode;
}
