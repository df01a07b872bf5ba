/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that joins or leaves a multicast group through libibumad, as programs of any vendor do:
 *
 *     mc_member join|leave SM-LID MGID-HIGH MGID-LOW P_KEY PREFIX PORT-GUID [JOIN-STATE]
 *
 * Numbers can be decimal, octal or hexadecimal. Prints "STATUS MLID JOIN-STATE" of the answer in
 * hexadecimal.
 */
#include <infiniband/umad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/wire/sa.h"

#define QP1_QKEY ((int)-0x7fff0000) /* 0x80010000 as an int */
#define TIMEOUT_MS 500

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 0);
}

static void make_request(uint8_t mad[FAB_MAD_SIZE], char **arg, int count)
{
    static const char *const components[] = {"MGID",  "PortGID", "Q_Key",     "TClass",
                                             "P_Key", "SL",      "FlowLabel", "JoinState"};
    const struct fab_wire_mc_member_record record = {
        .mgid = {number(arg[3]), number(arg[4])},
        .port_gid = {number(arg[6]), number(arg[7])},
        .qkey = 0xb1b,
        .pkey = (uint16_t)number(arg[5]),
        .join_state = count > 8 ? (uint8_t)number(arg[8]) : 1,
    };
    struct fab_sa_header sa = {0};
    const struct fab_mad head = {.mgmt_class = FAB_CLASS_SA,
                                 .method = arg[1][0] == 'j' ? FAB_METHOD_SET : FAB_METHOD_DELETE,
                                 .tid = (uint64_t)random(),
                                 .attr_id = FAB_SA_MC_MEMBER_RECORD};
    for (size_t i = 0; i < sizeof(components) / sizeof(components[0]); i++)
        sa.comp_mask |= fab_wire_rec_component(&fab_wire_mc_member_record, components[i]);
    (void)fab_wire_gmp_pack(&head, NULL, 0, mad);
    (void)fab_wire_attr_pack(&fab_wire_attr_sa_header, &sa, mad + FAB_SA_HEADER,
                             FAB_SA_DATA - FAB_SA_HEADER);
    (void)fab_wire_rec_pack(&fab_wire_mc_member_record, &record, mad + FAB_SA_DATA,
                            FAB_SA_DATA_LEN);
}

static int say(const uint8_t *mad)
{
    struct fab_wire_mc_member_record is;
    if (fab_wire_rec_unpack(&fab_wire_mc_member_record, mad + FAB_SA_DATA, FAB_SA_DATA_LEN, &is) !=
        0)
        return EXIT_FAILURE;
    printf("0x%04x 0x%04x 0x%x\n", fab_base_get_be16(mad + 4), is.mlid, is.join_state);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    int status = EXIT_FAILURE, len = FAB_MAD_SIZE;
    if (argc < 8 || umad_init() < 0)
        return status;
    int port = umad_open_port(NULL, 0), agent = -1;
    uint8_t *umad = calloc(1, umad_size() + FAB_MAD_SIZE);
    if (port >= 0)
        agent = umad_register(port, FAB_CLASS_SA, 2, 0, NULL);
    if (agent >= 0 && umad != NULL) {
        make_request(umad_get_mad(umad), argv, argc);
        umad_set_addr(umad, (int)number(argv[2]), 1, 0, QP1_QKEY);
        if (umad_send(port, agent, umad, FAB_MAD_SIZE, TIMEOUT_MS, 3) >= 0 &&
            umad_recv(port, umad, &len, 4 * TIMEOUT_MS) >= 0 && umad_status(umad) == 0)
            status = say(umad_get_mad(umad));
    }
    free(umad);
    return status;
}
