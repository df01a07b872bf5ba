/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status codes of the whole library: 0 is success, errors are negative. Headers name the errors of
 * a function without the prefix: "NOMEM" is FAB_E_NOMEM. If a header names only errors ("Returns
 * NOMEM."), the function returns FAB_OK when there is no error.
 */
#ifndef LIBFABMGR_BASE_STATUS_H
#define LIBFABMGR_BASE_STATUS_H

enum fab_status {
    FAB_OK = 0,
    FAB_E_NOMEM = -1, /* out of memory */
    FAB_E_INVAL = -2, /* an argument is outside its valid range */
    /* a number does not fit into the field, or is out of the range of the device */
    FAB_E_RANGE = -3,
    FAB_E_TRUNCATED = -4, /* the data ends before the end of the value */
    FAB_E_FORMAT = -5,    /* the bytes or text are malformed */
    /* the requested object does not exist */
    FAB_E_NOT_FOUND = -6,
    FAB_E_EXISTS = -7, /* the object to be added exists already */
    /* a limit of the device, of the standard or of the policy is reached */
    FAB_E_LIMIT = -8,
    FAB_E_TIMEOUT = -9, /* no response in time */
    /* the other side responded with an error status */
    FAB_E_REFUSED = -10,
    FAB_E_UNREACHABLE = -11, /* no path leads to the destination */
    FAB_E_LOOP = -12,        /* the forwarding tables contain a loop */
    FAB_E_CYCLE = -13,       /* the channel dependency graph has a cycle */
    /* the call cannot succeed now; it may succeed later */
    FAB_E_BUSY = -14,
    /* the request is valid, but this program or device does not support it */
    FAB_E_UNSUPPORTED = -15,
    FAB_E_IO = -16,     /* an operation of the operating system failed (daemon only) */
    FAB_E_DENIED = -17, /* the caller has no permission */
};

/* Returns a short English text for `status`, never NULL. */
const char *fab_base_status_text(int status);

#endif
