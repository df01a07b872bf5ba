/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one place that turns configure's version into a value of the program.
 */
#include "libfabmgr/base/version.h"

#include "config.h"

const char *fab_base_version(void)
{
    return PACKAGE_VERSION;
}
