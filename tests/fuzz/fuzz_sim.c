/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes MADs that are sent into the simulated fabric. An input is a sequence of records of up to
 * 112 bytes: flags, DLID, the first 36 bytes of a MAD, ten hops of each path, and the beginning of
 * the attribute.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/sim/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 36, PATH = 10, RECORD = 112 };

static struct fab_sim *new_sim(void)
{
    struct fab_random_spec spec = {.switches = 4, .degree = 3, .hosts_per_switch = 2, .seed = 4};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    struct fab_sim *s = NULL;
    if (fab_fabric_generate_random(&spec, &b) == 0 && fab_fabric_builder_seal(b, &f) == 0)
        (void)fab_sim_new(f, 1, &s);
    fab_fabric_unref(f);
    fab_fabric_builder_free(b);
    return s;
}

/*
 * Begins or ends a lasting fault of the kind `what`, and then advances the time.
 */
static void fault_in_time(struct fab_sim *s, uint8_t what, uint8_t node, uint8_t port)
{
    const struct fab_sim_impairments foul = {
        .loss = 0.1, .duplicate = 0.5, .delay = 0.5, .delay_us = 9};
    const struct fab_sim_timing pace = {
        .hop_us = port, .answer_us = 3, .train_us = 50, .trap_us = 70};
    const struct fab_sim_impairments fair = {0};
    switch (what) {
    case 0:
        fab_sim_set_impairments(s, port & 1 ? &foul : &fair);
        break;
    case 1:
        fab_sim_set_timing(s, &pace);
        break;
    case 2:
        (void)fab_sim_power_off(s, node);
        break;
    case 3:
        (void)fab_sim_power_on(s, node, port, port / 2);
        break;
    case 4:
        (void)fab_sim_flap(s, node, port, 10, 3);
        break;
    case 5:
        (void)fab_sim_trap_storm(s, node, 128 + port % 4, 5, 4);
        break;
    case 6:
        (void)fab_sim_corrupt(s, node, (enum fab_sim_corruption)(port % 9), 0.5);
        break;
    default:
        (void)fab_sim_set_m_key(s, node, port, port % 4, 1);
        break;
    }
    fab_sim_advance(s, fab_sim_now(s) + 20);
}

static void fault(struct fab_sim *s, uint8_t what, uint8_t node, uint8_t port)
{
    if (what & 1)
        (void)fab_sim_unlink(s, node, port);
    else
        (void)fab_sim_relink(s, node, port);
    if (what & 2)
        (void)fab_sim_attach(s, node, port, what & 4);
    if (what & 8)
        fab_sim_detach(s, node, port);
}

/* Sends the MAD of the record r, which must be complete, into the fabric. */
static void send(struct fab_sim *s, const uint8_t r[RECORD])
{
    uint8_t mad[FAB_MAD_SIZE] = {0}, reply[FAB_MAD_SIZE];
    uint16_t dlid = (uint16_t)(r[1] | (r[0] & 0x80 ? 0xff00 : 0));
    const uint8_t *at = r + 2;
    memcpy(mad, at, HEADER);
    memcpy(mad + 128, at + HEADER, PATH);
    memcpy(mad + 192, at + HEADER + PATH, PATH);
    memcpy(mad + 64, at + HEADER + 2 * PATH, RECORD - 2 - HEADER - 2 * PATH);
    if (!(r[0] & 0x40)) { /* flag 0x40 is not set: make it an SMP */
        mad[0] = mad[2] = 1;
        memset(mad + 32, 0xff, 4);
    }
    if (fab_sim_send(s, r[0] & 0x0f, r[0] & 0x10 ? 1 : 0, dlid, mad, reply) == 1 &&
        reply[3] != FAB_METHOD_GET_RESP)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_sim *s = new_sim();
    struct fab_sim_delivery mail;
    while (s != NULL && size > 0) {
        uint8_t record[RECORD] = {0};
        size_t take = size < RECORD ? size : RECORD;
        memcpy(record, data, take);
        if (record[0] & 0x20 && record[0] & 0x40)
            fault_in_time(s, record[0] & 7, record[1] % 16, record[2]);
        else if (record[0] & 0x20)
            fault(s, record[0], record[1], record[2]);
        send(s, record);
        data += take;
        size -= take;
    }
    if (s != NULL)
        fab_sim_advance(s, fab_sim_now(s) + 1000);
    while (s != NULL && fab_sim_receive(s, &mail)) {
    }
    fab_sim_free(s);
    return 0;
}
