/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files that the settings name and whose format is that of OpenSM. */
#ifndef FABRICD_CONFIG_FILES_H
#define FABRICD_CONFIG_FILES_H

#include "fabricd/config/raw.h"
#include "libfabmgr/policy/policy.h"

/* Reads names.node_name_map and subnet.lid_file into the policy. Returns an error as config_load
 * does; the report then has the message. */
int files_take(const struct raw *raw, struct report *report, struct fab_policy *p);

#endif
