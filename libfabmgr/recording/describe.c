/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes a MAD in one readable line: method, attribute and destination. */
#include <stdio.h>

#include "libfabmgr/recording/recording.h"

struct name {
    uint16_t id;
    const char *name;
};

static const struct name methods[] = {
    {FAB_METHOD_GET, "Get"},
    {FAB_METHOD_SET, "Set"},
    {FAB_METHOD_SEND, "Send"},
    {FAB_METHOD_TRAP, "Trap"},
    {FAB_METHOD_REPORT, "Report"},
    {FAB_METHOD_TRAP_REPRESS, "TrapRepress"},
    {FAB_METHOD_GET_RESP, "GetResp"},
    {FAB_METHOD_REPORT_RESP, "ReportResp"},
    {0, NULL},
};
static const struct name classes[] = {
    {FAB_CLASS_SMP_LID, "Subn"}, {FAB_CLASS_SMP_DIRECTED, "Subn"},
    {FAB_CLASS_SA, "SubnAdm"},   {FAB_CLASS_PERF, "Perf"},
    {FAB_CLASS_CC, "CC"},        {0, NULL},
};
/* Names of the attributes of SMPs. Attributes with an ID up to ATTR_OF_ALL_CLASSES exist in all
 * management classes. */
static const struct name attributes[] = {
    {FAB_ATTR_CLASS_PORT_INFO, "ClassPortInfo"},
    {FAB_ATTR_NOTICE, "Notice"},
    {FAB_ATTR_INFORM_INFO, "InformInfo"},
    {FAB_ATTR_NODE_DESC, "NodeDescription"},
    {FAB_ATTR_NODE_INFO, "NodeInfo"},
    {FAB_ATTR_SWITCH_INFO, "SwitchInfo"},
    {FAB_ATTR_GUID_INFO, "GUIDInfo"},
    {FAB_ATTR_PORT_INFO, "PortInfo"},
    {FAB_ATTR_PKEY_TABLE, "P_KeyTable"},
    {FAB_ATTR_SL2VL, "SLtoVLMappingTable"},
    {FAB_ATTR_VLARB, "VLArbitrationTable"},
    {FAB_ATTR_LFT, "LinearForwardingTable"},
    {FAB_ATTR_RFT, "RandomForwardingTable"},
    {FAB_ATTR_MFT, "MulticastForwardingTable"},
    {FAB_ATTR_SM_INFO, "SMInfo"},
    {FAB_ATTR_VENDOR_DIAG, "VendorDiag"},
    {FAB_ATTR_LED_INFO, "LedInfo"},
    {FAB_ATTR_MLNX_EXT_PORT_INFO, "MlnxExtPortInfo"},
    {0, NULL},
};
/* highest ID of an attribute that exists in all management classes */
enum { ATTR_OF_ALL_CLASSES = 3 };

/* Returns the name of a method or attribute. If its ID is unknown, writes the ID as text to
 * number[], and returns number[]. */
static const char *word(const struct name *names, uint16_t id, char number[16])
{
    for (; names->name; names++)
        if (names->id == id)
            return names->name;
    snprintf(number, 16, "0x%x", id);
    return number;
}

static bool is_smp(uint8_t mgmt_class)
{
    return mgmt_class == FAB_CLASS_SMP_LID || mgmt_class == FAB_CLASS_SMP_DIRECTED;
}

/* Writes the directed route of an SMP as "by 0,1,4". The 0 stands for the manager's own port; the
 * other numbers are the output ports of the hops. */
static void describe_path(const uint8_t *mad, char *text, size_t room)
{
    unsigned hops = mad[7] <= FAB_MAX_HOPS ? mad[7] : FAB_MAX_HOPS;
    size_t used = (size_t)snprintf(text, room, "by 0");
    for (unsigned i = 1; i <= hops && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, ",%u", mad[128 + i]);
}

void fab_recording_describe(const uint8_t mad[FAB_MAD_SIZE], uint16_t to, char *text, size_t room)
{
    char class_number[16], method_number[16], attr_number[16], where[4 * FAB_MAX_HOPS + 16];
    uint8_t mgmt_class = mad[1];
    uint16_t attr = fab_base_get_be16(mad + 16), status = fab_base_get_be16(mad + 4);
    static const struct name none[] = {{0, NULL}};
    bool known = is_smp(mgmt_class) || attr <= ATTR_OF_ALL_CLASSES;
    if (mgmt_class == FAB_CLASS_SMP_DIRECTED) {
        describe_path(mad, where, sizeof(where));
        status &= FAB_SMP_STATUS_MASK;
    } else {
        snprintf(where, sizeof(where), "LID %u", to);
    }
    int used = snprintf(
        text, room, "%s%s %s, modifier %u, %s", word(classes, mgmt_class, class_number),
        word(methods, mad[3], method_number), word(known ? attributes : none, attr, attr_number),
        (unsigned)fab_base_get_be32(mad + 20), where);
    if (status && used > 0 && (size_t)used < room)
        snprintf(text + used, room - (size_t)used, ", status 0x%04x", status);
}
