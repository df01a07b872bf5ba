/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host answers requests that the manager sent to other ports. Any host can send a response with
 * any content, and the manager matches responses with requests by the transaction ID. In earlier
 * versions, the ID had two predictable parts: a slot number, which a host could derive from the IDs
 * of the requests to itself, and a serial number of 12 bits. The manager also did not compare the
 * path of the response with that of the request. So a host could answer in the name of its
 * neighbour.
 *
 * The fabric has 6 leaves with 4 hosts each and 3 spines. The rogue is host-0013 (leaf-004/1), the
 * victim host-0014 (leaf-004/2).
 */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "tests/sim/lab.h"

#define ROGUE "host-0013"
#define VICTIM "host-0014"

enum { AT_TID = 8, AT_DATA = 64 };

static struct lab lab;
static struct {
    const struct transport_ops *ops;
    /* Transaction ID of the last request that the manager sent to the rogue. */
    uint32_t rogue_tid;
    /* Directed route in the forged responses. It leads to the victim; if knows_id is true, it leads
     * to the rogue itself. */
    struct fab_path path;
    /* attack: true while the rogue forges responses to the requests that the manager sends to the
     * victim. knows_id: true: the rogue knows the transaction ID of the request, but not its path;
     * false: it knows the path, and guesses the ID. */
    bool attack, knows_id;
    uint32_t victim_tid;
    uint64_t forged;
} rogue;

static uint32_t end_of(const struct fab_path *path)
{
    const struct fab_fabric *f = fab_sim_fabric(lab.sim);
    uint32_t node = f->switch_count;
    for (uint8_t hop = 1; hop <= path->hops; hop++)
        node = fab_fabric_port(
                   f, fab_fabric_port(f, fab_fabric_port_id(f, node, path->port[hop]))->peer)
                   ->node;
    return node;
}

static void forge(uint32_t tid, const struct fab_path *path)
{
    uint8_t bytes[FAB_MAD_SIZE], data[FAB_SMP_DATA] = "rogue";
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                           .method = FAB_METHOD_GET,
                           .tid = tid,
                           .attr_id = FAB_ATTR_NODE_DESC,
                           .path = *path};
    ck_assert_int_eq(fab_wire_smp_pack(&head, data, bytes), FAB_OK);
    ck_assert_int_eq(fab_wire_smp_answer(bytes, 0, data, bytes), FAB_OK);
    lab_receive_from(&lab, FAB_LID_PERMISSIVE, bytes);
    rogue.forged++;
}

/* The rogue guesses the transaction ID of the request to the victim. It tries slot numbers (low 20
 * bits) near the one in the last request to itself, each with all serial numbers (upper 12 bits).
 * In earlier versions, this found the ID. */
static void guess(void *ctx)
{
    (void)ctx;
    uint32_t slot = rogue.rogue_tid & 0xfffff;
    for (uint32_t near = slot < 8 ? 0 : slot - 8; near <= slot + 8; near++)
        for (uint32_t serial = 0; serial < 4096; serial++)
            forge(serial << 20 | near, &rogue.path);
}

static void answer_from_elsewhere(void *ctx)
{
    (void)ctx;
    forge(rogue.victim_tid, &rogue.path);
}

static int spy(struct transport *t, const struct transport_mad *mad)
{
    struct fab_mad head;
    const uint8_t *data;
    size_t len;
    ck_assert_int_eq(fab_wire_mad_unpack(mad->bytes, mad->len, &head, &data, &len), FAB_OK);
    if (head.mgmt_class == FAB_CLASS_SMP_DIRECTED && head.attr_id == FAB_ATTR_NODE_DESC) {
        uint32_t node = end_of(&head.path);
        if (node == lab_node(&lab, ROGUE)) {
            rogue.rogue_tid = (uint32_t)head.tid;
            if (rogue.knows_id)
                rogue.path = head.path;
        } else if (node == lab_node(&lab, VICTIM) && rogue.attack) {
            rogue.victim_tid = (uint32_t)head.tid;
            if (!rogue.knows_id)
                rogue.path = head.path;
            ck_assert_int_eq(
                loop_post(lab.loop, rogue.knows_id ? answer_from_elsewhere : guess, NULL), FAB_OK);
        }
    }
    return rogue.ops->send(t, mad);
}

static void bring_up_under_attack(bool knows_id)
{
    static struct transport_ops ops;
    memset(&rogue, 0, sizeof rogue);
    rogue.attack = true;
    rogue.knows_id = knows_id;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    fab_sim_set_timing(lab.sim, &(struct fab_sim_timing){.hop_us = 1, .answer_us = 1000});
    rogue.ops = lab.sim_transport->ops;
    ops = *rogue.ops;
    ops.send = spy;
    lab.sim_transport->ops = &ops;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    lab.sim_transport->ops = rogue.ops;
}

static bool is_known(const char *name)
{
    struct fab_view *v = sm_view(lab.sm);
    bool found = false;
    ck_assert_ptr_nonnull(v);
    for (uint32_t node = 0; node < v->fabric->node_count; node++)
        found |= strcmp(v->fabric->nodes[node].desc, name) == 0;
    fab_view_unref(v);
    return found;
}

START_TEST(transaction_ids_cannot_be_guessed)
{
    bring_up_under_attack(false);
    ck_assert_uint_ge(rogue.forged, 30000);
    ck_assert(is_known(VICTIM));
    ck_assert(!is_known("rogue"));
    lab_close(&lab);
}
END_TEST

/* The rogue knows the transaction ID. The manager refuses the response nevertheless, because its
 * path is not that of the request. */
START_TEST(an_answer_with_another_path_is_refused_and_counted)
{
    struct sm_status status;
    bring_up_under_attack(true);
    ck_assert_uint_ge(rogue.forged, 1);
    ck_assert(is_known(VICTIM));
    ck_assert(!is_known("rogue"));
    sm_get_status(lab.sm, &status);
    ck_assert_uint_eq(status.smps_mismatched, rogue.forged);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("forged answers");
    TCase *t = tcase_create("attacks");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, transaction_ids_cannot_be_guessed);
    tcase_add_test(t, an_answer_with_another_path_is_refused_and_counted);
    suite_add_tcase(s, t);
    return test_run(s);
}
