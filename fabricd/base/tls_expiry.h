/* SPDX-License-Identifier: BSD-3-Clause */
/* The times at which the TLS files of the manager expire. The RPC server reads the files, and the
 * metrics show the times. */
#ifndef FABRICD_BASE_TLS_EXPIRY_H
#define FABRICD_BASE_TLS_EXPIRY_H

#include <stdint.h>

enum tls_file { TLS_FILE_CERT, TLS_FILE_CA, TLS_FILE_CRL, TLS_FILES };

struct tls_expiry {
    /* For each file, the times of the certificate or revocation list in this file that expires
     * first. */
    struct {
        int64_t at_s;   /* Unix time in seconds of the expiry; 0: nothing in the file expires */
        int64_t warn_s; /* Unix time in seconds from which on operators are warned */
    } file[TLS_FILES];
};

#endif
