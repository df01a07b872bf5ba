/* SPDX-License-Identifier: BSD-3-Clause */
/* The version number comes from configure.ac. */
#include "libfabmgr/base/version.h"

#include "config.h"

const char *fab_base_version(void)
{
    return PACKAGE_VERSION;
}
