/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIBFABMGR_BASE_VERSION_H
#define LIBFABMGR_BASE_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of this library and of the programs in the same package, such as "0.1.0". */
const char *fab_base_version(void);

#ifdef __cplusplus
}
#endif

#endif
