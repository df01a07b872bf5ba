/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the DataDetails of traps (IBA 14.2.5.1). Only generic traps have a known layout.
 */
#include "libfabmgr/base/buf.h"
#include "libfabmgr/wire/wire.h"

uint16_t fab_wire_notice_lid(const struct fab_notice *n)
{
    if (!n->generic)
        return 0;
    switch (n->trap) {
    case 128: /* link state change of a switch */
        return fab_base_get_be16(n->details);
    case 129: /* local link integrity */
    case 130: /* excessive buffer overruns */
    case 131: /* flow control watchdog */
    case 144: /* capabilities, description or priority changed */
    case 145: /* system image GUID changed */
        return fab_base_get_be16(n->details + 2);
    default:
        return 0;
    }
}
