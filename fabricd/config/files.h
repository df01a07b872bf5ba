/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files that settings name and that have a format of OpenSM. */
#ifndef FABRICD_CONFIG_FILES_H
#define FABRICD_CONFIG_FILES_H

#include "fabricd/config/raw.h"
#include "libfabmgr/policy/policy.h"

/* Reads names.node_name_map and subnet.lid_file into the policy. Returns the errors of config_load,
 * with a message in the report. */
int files_take(const struct raw *raw, struct report *report, struct fab_policy *p);

#endif
