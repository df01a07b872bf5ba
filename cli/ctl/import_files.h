/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of an import: reads those of OpenSM, and writes those of fabricd. */
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
    const char *dir;   /* folder with opensm.conf */
    bool dir_given;    /* false: dir is OpenSM's own folder */
    const char *cache; /* folder with guid2lid, ...; NULL: not given */
};
/* Reads opensm.conf and the files that it names. Each of these files is first looked for in the
 * folder of opensm.conf, and then at the path in opensm.conf, because the folder may be a copy from
 * another host. Prints the error and returns the exit code; *ret needs import_files_free only after
 * EXIT_OK. */
int import_files_read(const struct import_places *p, struct import_files *ret);
void import_files_free(struct import_files *f);

/* Reads a file. Returns OK or another status, but prints no message. The caller frees the text. */
int import_file_read(const char *path, char **ret_text, size_t *ret_len);
/* Makes an absolute path of a folder that need not exist. If the path is too long, prints an error.
 * Returns the exit code. */
int import_absolute(const char *folder, char ret[IMPORT_PATH_LEN]);

/* Writes a file into the folder, and replaces a file with this name. force: first renames that file
 * to NAME.former. Prints the error and returns the exit code. */
int import_file_write(const char *folder, const struct fab_opensm_output *o, bool force);
/* Checks that none of the files exists; if one exists, prints an error. Returns the exit code. */
int import_files_absent(const char *folder, const struct fab_opensm_output *o, size_t count);

#endif
