/* SPDX-License-Identifier: BSD-3-Clause */
/* The times at which the TLS files of the manager expire. The RPC server reads the files, and the
 * metrics show the times. */
#ifndef FABRICD_BASE_TLS_EXPIRY_H
#define FABRICD_BASE_TLS_EXPIRY_H

#include <stdint.h>

enum tls_file { TLS_FILE_CERT, TLS_FILE_CA, TLS_FILE_CRL, TLS_FILES };

struct tls_expiry {
    /* For each TLS file: when the first of its certificates or revocation lists expires. */
    struct {
        int64_t at_s;   /* Unix time in seconds of the expiry; 0: nothing in the file expires */
        int64_t warn_s; /* Unix time in seconds at which the manager begins to warn operators */
    } file[TLS_FILES];
};

#endif
