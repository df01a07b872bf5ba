/* SPDX-License-Identifier: BSD-3-Clause */
/* The texts of all status codes. */
#include "libfabmgr/base/status.h"

#include <stddef.h>

static const char *const sentences[] = {
    [-FAB_OK] = "success",
    [-FAB_E_NOMEM] = "out of memory",
    [-FAB_E_INVAL] = "an argument is not valid",
    [-FAB_E_RANGE] = "a number is out of range",
    [-FAB_E_TRUNCATED] = "the data ends too early",
    [-FAB_E_FORMAT] = "the data is malformed",
    [-FAB_E_NOT_FOUND] = "not found",
    [-FAB_E_EXISTS] = "it exists already",
    [-FAB_E_LIMIT] = "a limit is reached",
    [-FAB_E_TIMEOUT] = "no response in time",
    [-FAB_E_REFUSED] = "the other side refused",
    [-FAB_E_UNREACHABLE] = "no path leads there",
    [-FAB_E_LOOP] = "the forwarding tables contain a loop",
    [-FAB_E_CYCLE] = "the channel dependency graph has a cycle",
    [-FAB_E_BUSY] = "busy, try again later",
    [-FAB_E_UNSUPPORTED] = "not supported",
    [-FAB_E_IO] = "input or output failed",
    [-FAB_E_DENIED] = "not permitted",
};

const char *fab_base_status_text(int status)
{
    const int last = (int)(sizeof sentences / sizeof sentences[0]) - 1;
    if (status > 0 || status < -last)
        return "unknown status";
    return sentences[-status];
}
