/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of fabricd. */
#ifndef FABRICD_OPTIONS_H
#define FABRICD_OPTIONS_H

#include <stdbool.h>

#include "fabricd/config/config.h"

#define OPTIONS_MAX_LISTEN 16
#define OPTIONS_EXIT_USAGE 2

struct options {
    const char *config_file; /* settings file; NULL: defaults only */
    const char *sim_file;    /* file of the simulated fabric; NULL: a real port */
    const char *sim_at;      /* adapter of the simulated fabric; NULL: the first */
    const char *umad;      /* adapter port; "": the first active one; NULL: that of the settings */
    const char *record;    /* file of --record, or NULL */
    uint64_t record_limit; /* bytes; 0: no limit */
    const char *replay;    /* file of --replay, or NULL */
    /* text of the settings in a recording, used if config_file is NULL; or NULL */
    const char *settings;
    size_t settings_len;
    const char *state_dir;
    const char *listen[OPTIONS_MAX_LISTEN];
    unsigned listen_count;
    bool check_config;
    bool has_log_level;
    enum log_level log_level;
};
/* Reads the arguments. Returns -1 if fabricd must start, otherwise the exit status: after --help,
 * after --version, and after an error, which is printed on stderr. Strings point into argv. */
int options_read(struct options *o, int argc, char **argv);
/* Makes the configuration from the defaults, the settings file and the options; the later override
 * the earlier. Returns the errors of config_load; why[] then holds a sentence. */
int options_config(const struct options *o, struct config *ret, char *why, size_t why_len);

#endif
