/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alias GUIDs with the real manager on a simulated fabric. Hosts request them; the manager assigns
 * or refuses them, keeps them over a restart, and writes them again to ports that lost them. Alias
 * GUIDs can be used for paths and multicast groups.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/sa/sa.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/wire/sa.h"
#include "tests/sim/lab.h"

#define SM_KEY 1
/* MINE: LID of the host that sends the requests. THEIRS: LID of another host. */
#define MINE 2
#define THEIRS 3

static struct lab lab;
static struct transport wire;
static struct sa *sa;
static uint8_t answer[FAB_MAD_SIZE];
static bool answered;

static int wire_send(struct transport *t, const struct transport_mad *mad)
{
    (void)t;
    memcpy(answer, mad->bytes, sizeof answer);
    answered = true;
    return FAB_OK;
}

static bool is_answered(struct lab *l)
{
    (void)l;
    return answered;
}

/* Sends a request and returns the status of the answer. *ret gets the record in the answer. */
static uint16_t request(uint16_t from, uint8_t method, uint64_t key, const struct fab_rec *rec,
                        uint64_t mask, const void *record, void *ret)
{
    struct transport_mad mad = {.addr = {.slid = from, .qpn = 1}, .qp = 1, .len = FAB_MAD_SIZE};
    struct fab_mad head = {
        .mgmt_class = FAB_CLASS_SA, .method = method, .tid = 1, .attr_id = rec->id};
    struct fab_sa_header header = {.sm_key = key, .comp_mask = mask};
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad.bytes), FAB_OK);
    fab_wire_attr_pack(&fab_wire_attr_sa_header, &header, mad.bytes + FAB_SA_HEADER, 20);
    fab_wire_rec_pack(rec, record, mad.bytes + FAB_SA_DATA, FAB_SA_DATA_LEN);
    answered = false;
    transport_hand_up(&wire, &mad, 1);
    lab_run(&lab, 5, is_answered, "an answer");
    /* no answer contains the key */
    ck_assert_uint_eq(fab_base_get_be64(answer + FAB_SA_HEADER), 0);
    ck_assert_int_eq(fab_wire_rec_unpack(rec, answer + FAB_SA_DATA, FAB_SA_DATA_LEN, ret), FAB_OK);
    return fab_base_get_be16(answer + 4);
}

/* Sends a Set or Delete for the first block of alias GUIDs of the port with LID `lid`. places: bit
 * i selects index i of the block. On input, guid[] has the requested GUIDs; on return, the GUIDs of
 * the answer. Returns the status of the answer. */
static uint16_t alias(uint16_t from, uint8_t method, uint64_t key, uint16_t lid, uint8_t places,
                      uint64_t guid[8])
{
    struct fab_wire_guid_info_record r = {.lid = lid}, is;
    uint64_t mask = 3 | (uint64_t)places << 4;
    memcpy(r.table.guid, guid, sizeof r.table.guid);
    uint16_t status = request(from, method, key, &fab_wire_guid_info_record, mask, &r, &is);
    memcpy(guid, is.table.guid, sizeof r.table.guid);
    return status;
}

/* Waits for `seconds`. Then returns the alias GUIDs that the device has. */
static struct fab_guid_block in_device(uint16_t lid, double seconds)
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_LID,
                          .method = FAB_METHOD_GET,
                          .tid = 1,
                          .attr_id = FAB_ATTR_GUID_INFO};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_guid_block is;
    lab_run_for(&lab, seconds);
    fab_wire_smp_pack(&mad, NULL, bytes);
    uint32_t node = fab_sim_fabric(lab.sim)->node_count - 1;
    ck_assert_int_eq(fab_sim_send(lab.sim, node, 1, lid, bytes, reply), 1);
    fab_wire_attr_unpack(&fab_wire_attr_guid_block, reply + 64, 64, &is);
    return is;
}

static void begin(void)
{
    static const struct transport_ops ops = {.send = wire_send};
    wire = (struct transport){.ops = &ops};
    struct sa_input in = {.loop = lab.loop, .transport = &wire, .sm = lab.sm, .store = lab.store};
    ck_assert_int_eq(sa_start(&in, &sa), FAB_OK);
    sm_start(lab.sm);
    lab_run(&lab, 20, lab_is_idle, "bring-up");
}

static void open_all(const char *state)
{
    lab_open(&lab, lab_leaf_spine(2, 2, 3), state);
    begin();
}

static void close_all(void)
{
    sa_stop(sa);
    lab_close(&lab);
}

START_TEST(names_are_given)
{
    uint64_t guid[8] = {0, 0x1111, 0, 0x3333};
    open_all(NULL);
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_SET, 0, MINE, 0x0e, guid), 0);
    ck_assert_uint_eq(guid[1], 0x1111);
    ck_assert_uint_ne(guid[2], 0); /* for a requested 0, the manager chose a GUID */
    ck_assert_uint_eq(guid[3], 0x3333);
    ck_assert_uint_eq(guid[4], 0);
    struct fab_guid_block is = in_device(MINE, 0.1);
    ck_assert_mem_eq(is.guid, guid, sizeof guid);
    uint64_t chosen = guid[2];
    guid[2] = 0; /* a second request for index 2 must get the GUID that the manager chose before */
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_SET, 0, MINE, 0x04, guid), 0);
    ck_assert_uint_eq(guid[2], chosen);
    uint64_t other[8] = {0, 0x1111, guid[0]};
    ck_assert_uint_eq(alias(THEIRS, FAB_METHOD_SET, 0, THEIRS, 0x06, other), 0);
    /* 0x1111 is an alias GUID of another port, so the manager does not assign it here */
    ck_assert_uint_eq(other[1], 0);
    /* guid[0] is the GUID of a port, so the manager does not assign it, either */
    ck_assert_uint_eq(other[2], 0);
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_DELETE, 0, MINE, 0x0a, guid), 0);
    ck_assert_uint_eq(guid[1], 0);
    ck_assert_uint_eq(guid[2], chosen);
    is = in_device(MINE, 0.1);
    ck_assert_mem_eq(is.guid, guid, sizeof guid);
    close_all();
}
END_TEST

START_TEST(some_are_refused)
{
    uint64_t guid[8] = {0, 0x1111};
    struct fab_wire_guid_info_record far = {.lid = MINE, .block = 1}, nobody = {.lid = 999}, is;
    open_all(NULL);
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_SET, 0, MINE, 0x01, guid), FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_SET, 0, THEIRS, 0x02, guid), FAB_SA_REQ_DENIED);
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_SET, SM_KEY, THEIRS, 0x02, guid), 0);
    ck_assert_uint_eq(request(MINE, FAB_METHOD_SET, 0, &fab_wire_guid_info_record, 0x23, &far, &is),
                      FAB_SA_NO_RECORDS);
    ck_assert_uint_eq(
        request(MINE, FAB_METHOD_SET, 0, &fab_wire_guid_info_record, 0x23, &nobody, &is),
        FAB_SA_NO_RECORDS);
    ck_assert_uint_eq(request(MINE, FAB_METHOD_SET, 0, &fab_wire_guid_info_record, 0x21, &far, &is),
                      FAB_SA_INSUFFICIENT_COMPONENTS);
    close_all();
}
END_TEST

START_TEST(paths_lead_to_names)
{
    uint64_t guid[8] = {0, 0x1111}, prefix = UINT64_C(0xfe80000000000000);
    struct fab_wire_path_record path = {.slid = MINE, .dgid = {prefix, 0x1111}}, is;
    uint64_t mask = fab_wire_rec_component(&fab_wire_path_record, "SLID") |
                    fab_wire_rec_component(&fab_wire_path_record, "DGID");
    open_all(NULL);
    ck_assert_uint_eq(request(MINE, FAB_METHOD_GET, 0, &fab_wire_path_record, mask, &path, &is),
                      FAB_SA_INVALID_GID);
    ck_assert_uint_eq(alias(THEIRS, FAB_METHOD_SET, 0, THEIRS, 0x02, guid), 0);
    ck_assert_uint_eq(request(MINE, FAB_METHOD_GET, 0, &fab_wire_path_record, mask, &path, &is), 0);
    ck_assert_uint_eq(is.dlid, THEIRS);
    ck_assert_uint_eq(is.dgid[1], 0x1111);
    close_all();
}
END_TEST

START_TEST(names_are_kept)
{
    uint64_t guid[8] = {0, 0x1111, 0x2222};
    char state[] = "/tmp/test-sa-alias-XXXXXX", command[64];
    ck_assert_ptr_nonnull(mkdtemp(state));
    open_all(state);
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_SET, 0, MINE, 0x06, guid), 0);
    uint64_t gone[8] = {0};
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_DELETE, 0, MINE, 0x02, gone), 0);
    guid[1] = 0;
    lab_run_for(&lab, 0.3);
    sa_stop(sa);
    lab_stop(&lab);
    lab_power_cycle(&lab); /* the power cycle deletes the alias GUIDs in the devices */
    lab_begin(&lab, state);
    begin();
    struct fab_guid_block is = in_device(MINE, 1.5);
    ck_assert_mem_eq(is.guid, guid, sizeof guid);
    close_all();
    snprintf(command, sizeof command, "rm -rf %s", state);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* ---- multicast ------------------------------------------------------------------------------- */

static uint64_t member_component(const char *name)
{
    return fab_wire_rec_component(&fab_wire_mc_member_record, name);
}

static uint16_t member(uint16_t from, uint8_t method, uint64_t guid,
                       struct fab_wire_mc_member_record *ret)
{
    struct fab_wire_mc_member_record r = {.mgid = {UINT64_C(0xff12401bffff0000), 5},
                                          .port_gid = {UINT64_C(0xfe80000000000000), guid},
                                          .qkey = 0xb1b,
                                          .pkey = 0xffff,
                                          .join_state = FAB_JOIN_FULL};
    uint64_t mask = member_component("MGID") | member_component("PortGID") |
                    member_component("Q_Key") | member_component("P_Key") | member_component("SL") |
                    member_component("FlowLabel") | member_component("TClass") |
                    member_component("JoinState");
    return request(from, method, 0, &fab_wire_mc_member_record, mask, &r, ret);
}

/* Returns whether the port with this GUID is a member of the group. Subnet administration shows
 * members only to hosts with the SM_Key. */
static bool is_member(uint64_t guid)
{
    struct fab_wire_mc_member_record r = {.mgid = {UINT64_C(0xff12401bffff0000), 5},
                                          .port_gid = {UINT64_C(0xfe80000000000000), guid}},
                                     is;
    uint64_t mask = member_component("MGID") | member_component("PortGID");
    uint16_t status =
        request(MINE, FAB_METHOD_GET, SM_KEY, &fab_wire_mc_member_record, mask, &r, &is);
    ck_assert(status == 0 || status == FAB_SA_NO_RECORDS);
    ck_assert(status != 0 || (is.port_gid[1] == guid && is.join_state == FAB_JOIN_FULL));
    return status == 0;
}

static bool is_reached(uint16_t lid)
{
    struct fab_view *v = sm_view(lab.sm);
    const struct fab_mcast_groups *g = sm_mgroups(lab.sm);
    const struct fab_mcast_group *group =
        fab_mcast_groups_find(g, (uint64_t[]){UINT64_C(0xff12401bffff0000), 5});
    uint64_t guid = fab_fabric_port(v->fabric, v->target->lids.owner[lid])->guid;
    fab_view_unref(v);
    return group != NULL && fab_mcast_trees_reaches(g->trees, group->is.mlid, guid);
}

static void reopen(const char *state)
{
    lab_run_for(&lab, 0.3);
    sa_stop(sa);
    lab_stop(&lab);
    lab_begin(&lab, state);
    begin();
    lab_run_for(&lab, 0.3);
}

START_TEST(members_by_their_names)
{
    uint64_t guid[8] = {0, 0x1111}, other[8] = {0, 0x4444}, none[8] = {0};
    char state[] = "/tmp/test-sa-alias-XXXXXX", command[64];
    struct fab_wire_mc_member_record is;
    ck_assert_ptr_nonnull(mkdtemp(state));
    open_all(state);
    ck_assert_uint_eq(member(MINE, FAB_METHOD_SET, 0x1111, &is), FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_SET, 0, MINE, 0x02, guid), 0);
    ck_assert_uint_eq(member(MINE, FAB_METHOD_SET, 0x1111, &is), 0);
    ck_assert_uint_eq(is.port_gid[1], 0x1111);
    /* ProxyJoin is 0, because the port itself sent the request */
    ck_assert_uint_eq(is.proxy_join, 0);
    ck_assert(is_member(0x1111) && is_reached(MINE) && !is_reached(THEIRS));
    ck_assert_uint_eq(member(THEIRS, FAB_METHOD_DELETE, 0x1111, &is), FAB_SA_REQ_INVALID);
    /* The alias GUID is a member of a group, so the manager refuses to delete or replace it. The
     * second iteration tests this after a restart of the manager. */
    for (int life = 0; life < 2; life++) {
        ck_assert_uint_eq(alias(MINE, FAB_METHOD_DELETE, 0, MINE, 0x02, none), FAB_SA_REQ_DENIED);
        ck_assert_uint_eq(alias(MINE, FAB_METHOD_SET, 0, MINE, 0x02, other), FAB_SA_REQ_DENIED);
        other[1] = 0x4444;
        none[1] = 0;
        if (life == 0)
            reopen(state);
        ck_assert(is_member(0x1111) && is_reached(MINE) && !is_reached(THEIRS));
    }
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_SET, 0, MINE, 0x02, guid),
                      0); /* the manager accepts a Set of the GUID that the port already has */
    ck_assert_uint_eq(member(MINE, FAB_METHOD_DELETE, 0x1111, &is), 0);
    ck_assert(!is_member(0x1111) && !is_reached(MINE));
    ck_assert_uint_eq(alias(MINE, FAB_METHOD_DELETE, 0, MINE, 0x02, none), 0);
    ck_assert_uint_eq(none[1], 0);
    close_all();
    snprintf(command, sizeof command, "rm -rf %s", state);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sa alias");
    TCase *tcase = tcase_create("alias");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, names_are_given);
    tcase_add_test(tcase, some_are_refused);
    tcase_add_test(tcase, paths_lead_to_names);
    tcase_add_test(tcase, names_are_kept);
    tcase_add_test(tcase, members_by_their_names);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
