/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies to requests and traps that other nodes send to the manager. */
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/core/core.h"
#include "libfabmgr/base/status.h"

/* Byte offsets in an SMP (IBA 14.2.1). A reply is a copy of the request in which only the method,
 * the status, the data and, for a directed route, the two LIDs change. */
enum { AT_CLASS = 1, AT_METHOD = 3, AT_STATUS = 4, AT_DR_SLID = 32, AT_DR_DLID = 34, AT_DATA = 64 };

void sm_reply(struct sm *s, const struct transport_mad *to, uint8_t method, uint16_t status,
              const uint8_t *data)
{
    uint8_t bytes[FAB_MAD_SIZE];
    memcpy(bytes, to->bytes, sizeof(bytes));
    bytes[AT_METHOD] = method;
    if (bytes[AT_CLASS] == FAB_CLASS_SMP_DIRECTED) {
        memcpy(bytes + AT_DR_SLID, to->bytes + AT_DR_DLID, 2);
        memcpy(bytes + AT_DR_DLID, to->bytes + AT_DR_SLID, 2);
        /* the direction bit (D) of a directed-route SMP says that it is a response */
        status |= 0x8000;
    }
    bytes[AT_STATUS] = (uint8_t)(status >> 8);
    bytes[AT_STATUS + 1] = (uint8_t)status;
    if (data)
        memcpy(bytes + AT_DATA, data, FAB_SMP_DATA);
    if (agent_reply(s->agent, to, bytes) != FAB_OK)
        log_debug("sm", "an answer could not be sent");
}
