/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files of OpenSM for an import, and writes the files of fabricd. */
#ifndef CLI_CTL_IMPORT_FILES_H
#define CLI_CTL_IMPORT_FILES_H

#include "libfabmgr/opensm/opensm.h"

#define IMPORT_PATH_LEN 4096

/* the contents of the files of OpenSM */
struct import_files {
    struct fab_opensm_conf conf;
    char *text[FAB_OPENSM_FILES]; /* NULL: there is no such file */
    char *path[FAB_OPENSM_FILES];
    size_t len[FAB_OPENSM_FILES];
};
struct import_places {
    const char *dir; /* the folder that has opensm.conf */
    /* true: the user named `dir` by the argument DIR; false: `dir` is OpenSM's default folder */
    bool dir_given;
    /* the folder that has guid2lid and OpenSM's other cache files; NULL: not given */
    const char *cache;
};
/* Reads opensm.conf, the files that it names, and OpenSM's cache files. For each file that
 * opensm.conf names, first tries the folder of opensm.conf, which may be a copy from another host,
 * and then the absolute path in opensm.conf (but not a path below /etc/opensm if `dir_given` is
 * true). Reads the cache files from `cache`. Without `cache`, tries the folder of opensm.conf and,
 * unless the user named this folder, OpenSM's cache directory. Files that do not exist are left
 * out. If this fails, prints the error. Returns the exit code; the caller frees *ret only after
 * EXIT_OK. */
int import_files_read(const struct import_places *p, struct import_files *ret);
void import_files_free(struct import_files *f);

/* Reads a file. Returns OK or another status, but prints no message. The caller frees the text. */
int import_file_read(const char *path, char **ret_text, size_t *ret_len);
/* Converts the path of a folder to an absolute path. The folder need not exist. If the path is too
 * long, prints an error. Returns the exit code. */
int import_absolute(const char *folder, char ret[IMPORT_PATH_LEN]);

/* Writes a file into the folder. force: true: first renames a file of the same name to NAME.former;
 * false: there must be no such file. If this fails, prints the error. Returns the exit code. */
int import_file_write(const char *folder, const struct fab_opensm_output *o, bool force);
/* Checks that the folder has none of the files o[0] to o[count - 1]; if it has one, prints an
 * error. Returns the exit code. */
int import_files_absent(const char *folder, const struct fab_opensm_output *o, size_t count);

#endif
