/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the command line of fabricd. */
#ifndef FABRICD_OPTIONS_H
#define FABRICD_OPTIONS_H

#include <stdbool.h>

#include "fabricd/config/config.h"

#define OPTIONS_MAX_LISTEN 16
#define OPTIONS_EXIT_USAGE 2

struct options {
    const char *config_file; /* settings file; NULL: defaults only */
    /* --sim: description of a fabric to simulate; NULL: a real adapter port is used */
    const char *sim_file;
    /* --sim-at: the node of the simulated fabric on which fabricd runs; NULL: the first adapter
     * with a link or, if there is none, the first switch */
    const char *sim_at;
    /* --umad: the real adapter port to use; "": the first active port; NULL: the port in the
     * settings file */
    const char *umad;
    /* file of --record; NULL: no recording is made */
    const char *record;
    /* maximum size of the recording in bytes; 0: no limit */
    uint64_t record_limit;
    const char *replay; /* file of --replay; NULL: no replay */
    /* With --replay: the text of the settings file in the recording, which is used if config_file
     * is NULL. NULL: the recording has no settings. */
    const char *settings;
    size_t settings_len;
    const char *state_dir;
    const char *listen[OPTIONS_MAX_LISTEN];
    unsigned listen_count;
    bool check_config;
    const char *rehearse; /* --rehearse: "text" or "json"; NULL: not given */
    /* --hardware-report: "text" or "json"; NULL: not given */
    const char *hardware_report;
    /* --backup, --restore: the file of the backup. --passphrase-file: the file of its passphrase.
     * NULL: not given. */
    const char *backup, *restore, *passphrase_file;
    bool replace, verify; /* --replace and --verify */
    bool has_log_level;
    enum log_level log_level;
};
/* Reads the arguments. Returns -1 if fabricd must start, otherwise the exit status (after --help,
 * --version or an error, which is printed on stderr). Strings in *o point into argv. */
int options_read(struct options *o, int argc, char **argv);
/* Returns true if this process only reads the fabric once (--rehearse, --hardware-report). */
bool options_only_reads(const struct options *o);
/* Makes the configuration from the defaults, the settings file and the options. The options
 * override the file, and the file overrides the defaults. Returns the errors of config_load; why[]
 * then has a sentence. */
int options_config(const struct options *o, struct config *ret, char *why, size_t why_len);

#endif
