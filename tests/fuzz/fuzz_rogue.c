/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes what a rogue host can send to the manager: SMInfo, control packets, traps and all other
 * MADs of the subnet management classes, from any source LID and by any directed route. The manager
 * runs on a simulated fabric in virtual time, and is not restarted between inputs. No sender is
 * trusted, so the manager must remain the master of the fabric.
 *
 * An input is a list of packets of at most 256 bytes: two bytes of source LID, one byte of length,
 * one byte that selects a header, and the rest of the MAD.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "tests/sim/lab.h"

#define HEAD 4
#define PACKETS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A function of the test library Check. The simulated manager of the tests uses assertions of
 * Check, which work outside of a test only after this function. */
void setup_messaging(void);
static struct lab lab;

static void bring_up(void)
{
    setup_messaging();
    lab_open_virtual(&lab, lab_leaf_spine(2, 2, 2), NULL);
    lab_stop(&lab);
    lab.config.policy.m_keys.number = 0xfeed;
    lab.config.policy.sm_key = 0xbeef;
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
}

/* Writes the header of one of the usual MADs, which the fuzzer would hardly find itself. Choice 0
 * leaves the header unchanged. */
static void set_header(uint8_t mad[FAB_MAD_SIZE], uint8_t choice)
{
    static const struct {
        uint8_t mgmt_class, method;
        uint16_t attr_id;
    } headers[] = {{FAB_CLASS_SMP_LID, FAB_METHOD_TRAP, FAB_ATTR_NOTICE},
                   {FAB_CLASS_SMP_LID, FAB_METHOD_GET, FAB_ATTR_SM_INFO},
                   {FAB_CLASS_SMP_LID, FAB_METHOD_SET, FAB_ATTR_SM_INFO},
                   {FAB_CLASS_SMP_DIRECTED, FAB_METHOD_GET, FAB_ATTR_SM_INFO},
                   {FAB_CLASS_SMP_DIRECTED, FAB_METHOD_SET, FAB_ATTR_SM_INFO},
                   {FAB_CLASS_SMP_DIRECTED, FAB_METHOD_TRAP, FAB_ATTR_NOTICE}};
    unsigned i = choice % 7;
    if (i == 0)
        return;
    mad[0] = mad[2] = 1;
    mad[1] = headers[i - 1].mgmt_class;
    mad[3] = headers[i - 1].method;
    fab_base_put_be16(mad + 16, headers[i - 1].attr_id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (lab.sm == NULL)
        bring_up();
    for (unsigned n = 0; n < PACKETS && size > HEAD; n++) {
        uint8_t mad[FAB_MAD_SIZE] = {0};
        size_t len = data[2] < size - HEAD ? data[2] : size - HEAD;
        memcpy(mad, data + HEAD, len);
        set_header(mad, data[3]);
        lab_receive_from(&lab, fab_base_get_be16(data), mad);
        data += HEAD + len;
        size -= HEAD + len;
    }
    lab_run_for(&lab, 0.01);
    lab_forget_events(&lab);
    if (lab_role(&lab) != FAB_SM_MASTER)
        abort();
    return 0;
}
