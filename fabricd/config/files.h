/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads two kinds of files in OpenSM's formats: the node-name-map, and the list of LIDs. Settings
 * have their paths. */
#ifndef FABRICD_CONFIG_FILES_H
#define FABRICD_CONFIG_FILES_H

#include "fabricd/config/raw.h"
#include "libfabmgr/policy/policy.h"

/* Reads names.node_name_map and subnet.lid_file into the policy. Returns OK, or an error of
 * config_load with a message in the report. */
int files_take(const struct raw *raw, struct report *report, struct fab_policy *p);

#endif
