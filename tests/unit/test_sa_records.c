/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the records of subnet administration with the snapshot. Checks which records a request
 * selects, and which requests are refused. */
#include "tests/unit/sa_place.h"

START_TEST(every_record_is_there_once)
{
    struct place x = place_of(leaf_spine(3, 2, 4), "updn", 0, true);
    const struct fab_fabric *f = x.f;
    uint32_t hosts = 12, switches = 5, ports = 0, links = 0, pairs = 0, keys = 0, blocks;
    uint8_t none[FAB_SA_DATA_LEN] = {0};
    for (uint32_t sw = 0; sw < switches; sw++) {
        ports += f->nodes[sw].num_ports + 1u;
        pairs += (f->nodes[sw].num_ports + 1u) * (f->nodes[sw].num_ports + 1u);
    }
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_port(f, p)->present)
            keys += fab_target_pkeys_blocks(fab_target_pkeys_capacity(f, p));
    for (uint32_t p = 0; p < f->port_count; p++)
        links += fab_fabric_port(f, p)->peer != FAB_NONE;
    blocks = switches * fab_target_lft_blocks(&x.v->target->lft);
    const struct {
        uint16_t id;
        uint32_t count;
    } expect[] = {{FAB_SA_NODE_RECORD, hosts + switches},
                  {FAB_SA_PORT_INFO_RECORD, hosts + ports},
                  {FAB_SA_SWITCH_INFO_RECORD, switches},
                  {FAB_SA_LINK_RECORD, links},
                  {FAB_SA_LFT_RECORD, blocks},
                  {FAB_SA_SL2VL_RECORD, hosts + pairs},
                  {FAB_SA_PKEY_TABLE_RECORD, keys},
                  {FAB_SA_PATH_RECORD, (hosts + switches) * (hosts + switches)}};
    x.req.data = none;
    x.req.trusted = true;
    for (size_t i = 0; i < sizeof expect / sizeof expect[0]; i++) {
        x.req.attr_id = expect[i].id;
        ck_assert_msg(table(&x, NULL, 0, 0) == expect[i].count, "%#x", expect[i].id);
    }
    leave(&x);
}
END_TEST

START_TEST(components_choose_records)
{
    struct place x = place_of(leaf_spine(3, 2, 4), "updn", 0, true);
    struct fab_wire_node_record n = {.info.node_type = FAB_NODE_SWITCH}, got;
    struct fab_wire_link_record link, l;
    struct fab_wire_lft_record lft = {.lid = (uint16_t)lid(&x, fab_fabric_port_id(x.f, 0, 0))}, row;
    want(&x, &fab_wire_node_record, &n, NAMES("NodeType"));
    ck_assert_uint_eq(table(&x, &got, sizeof got, 1), 5);
    n.lid = (uint16_t)lid(&x, host(&x, 2));
    want(&x, &fab_wire_node_record, &n, NAMES("LID"));
    ck_assert_uint_eq(table(&x, &got, sizeof got, 1), 1);
    ck_assert_uint_eq(got.lid, n.lid);
    ck_assert_str_eq((const char *)got.desc.text, x.f->nodes[x.f->switch_count + 2].desc);
    ck_assert_uint_eq(got.info.port_guid, fab_fabric_port(x.f, host(&x, 2))->guid);
    ck_assert_uint_eq(got.info.local_port, 1);
    /* the LID is of a host, but NodeType asks for a switch */
    want(&x, &fab_wire_node_record, &n, NAMES("LID", "NodeType"));
    ck_assert_uint_eq(table(&x, &got, sizeof got, 1), 0);
    n.lid = 0xbfff;
    want(&x, &fab_wire_node_record, &n, NAMES("LID"));
    ck_assert_uint_eq(table(&x, &got, sizeof got, 1), 0);
    strcpy((char *)n.desc.text, x.f->nodes[3].desc);
    want(&x, &fab_wire_node_record, &n, NAMES("NodeDescription"));
    ck_assert_uint_eq(table(&x, &got, sizeof got, 1), 1);
    ck_assert_uint_eq(got.info.node_guid, x.f->nodes[3].guid);
    link = (struct fab_wire_link_record){.to_lid = (uint16_t)lid(&x, host(&x, 0))};
    want(&x, &fab_wire_link_record, &link, NAMES("ToLID"));
    ck_assert_uint_eq(table(&x, &l, sizeof l, 1), 1);
    ck_assert_uint_eq(l.to_port, 1);
    ck_assert_uint_eq(l.from_lid,
                      lid(&x, fab_fabric_port_id(x.f, fab_fabric_peer_node(x.f, host(&x, 0)), 0)));
    want(&x, &fab_wire_lft_record, &lft, NAMES("LID", "BlockNum"));
    ck_assert_uint_eq(table(&x, &row, sizeof row, 1), 1);
    ck_assert_mem_eq(row.port, fab_target_lft_row(&x.v->target->lft, 0), 64);
    leave(&x);
}
END_TEST

/* The records of VL arbitration have 32 entries each: blocks 1 and 2 are of low priority, 3 and 4
 * of high priority (IBA 14.2.5.9). The capabilities of a port decide how many blocks it has. */
START_TEST(arbitration_has_the_blocks_that_ports_have)
{
    static const uint8_t caps[] = {0, 1, 32, 33, 64};
    struct place x = place_of(leaf_spine(2, 1, 2), "updn", 0, true);
    struct fab_fabric *f = (struct fab_fabric *)(uintptr_t)x.f;
    struct fab_wire_vlarb_record r[64], q = {0};
    uint32_t expect = 0, of_one = host(&x, 3);
    for (uint32_t p = 0, n = 0; p < f->port_count; p++, n++) {
        unsigned low = caps[n % 5], high = caps[n / 5 % 5];
        fab_fabric_edit_port(f, p)->info.vlarb_low_cap = (uint8_t)low;
        fab_fabric_edit_port(f, p)->info.vlarb_high_cap = (uint8_t)high;
        if (fab_fabric_port(f, p)->present && p != of_one)
            expect += (low + 31u) / 32 + (high + 31u) / 32;
    }
    fab_fabric_edit_port(f, of_one)->info.vlarb_low_cap = 33;
    fab_fabric_edit_port(f, of_one)->info.vlarb_high_cap = 32;
    want(&x, &fab_wire_vlarb_record, &q, NULL);
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 64), expect + 3);
    q.lid = (uint16_t)lid(&x, of_one);
    want(&x, &fab_wire_vlarb_record, &q, NAMES("LID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 64), 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(r[i].lid, q.lid);
        ck_assert_uint_eq(r[i].port, 1);
        ck_assert_uint_eq(r[i].block, i + 1);
    }
    q.block = 4;
    want(&x, &fab_wire_vlarb_record, &q, NAMES("LID", "BlockNum"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 64), 0);
    leave(&x);
}
END_TEST

/* If the fabric has several VLs, the records must show the entries that were programmed into the
 * ports. */
START_TEST(arbitration_shows_the_entries)
{
    struct place x = place_of(grid((const uint32_t[3]){4, 4, 1}, true, 1), "dfsssp", 0, true);
    struct fab_wire_vlarb_record r, q = {.port = 1, .block = 1};
    uint32_t port = fab_fabric_port_id(x.f, 0, 1);
    struct fab_arb arb;
    ck_assert_uint_ne(fab_fabric_port(x.f, port)->peer, FAB_NONE);
    ck_assert(fab_target_arb(x.f, &x.v->policy, &x.v->target->vls, port, NULL, &arb));
    ck_assert_uint_gt(arb.lows, 1);
    q.lid = (uint16_t)lid(&x, fab_fabric_port_id(x.f, 0, 0));
    want(&x, &fab_wire_vlarb_record, &q, NAMES("LID", "OutputPortNum", "BlockNum"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    for (unsigned i = 0; i < arb.lows && i < 32; i++) {
        ck_assert_uint_eq(r.table.entry[i].vl, arb.low[i].vl);
        ck_assert_uint_eq(r.table.entry[i].weight, arb.low[i].weight);
    }
    leave(&x);
}
END_TEST

START_TEST(capabilities_match_by_bits)
{
    struct place x = place_of(leaf_spine(2, 1, 2), "updn", 0, true);
    struct fab_wire_port_info_record q = {.info.cap_mask = 2};
    for (uint32_t i = 0; i < 4; i++)
        fab_fabric_edit_port(x.v->fabric, host(&x, i))->info.cap_mask = i < 2 ? 2 | 8 : i;
    want(&x, &fab_wire_port_info_record, &q, NAMES("CapabilityMask"));
    /* without attribute modifier bit 31, the mask must be equal */
    ck_assert_uint_eq(table(&x, NULL, 0, 0), 1);
    x.req.attr_mod = 1u << 31;
    /* with bit 31 of the attribute modifier set, the query for capability mask 2 matches every port
     * whose mask includes this bit: the masks 10, 10, 2 and 3 */
    ck_assert_uint_eq(table(&x, NULL, 0, 0), 4);
    leave(&x);
}
END_TEST

START_TEST(keys_are_for_the_trusted)
{
    struct fab_fabric *f = leaf_spine(2, 1, 2);
    for (uint32_t p = 0; p < f->port_count; p++)
        fab_fabric_edit_port(f, p)->info.m_key = 77;
    struct place x = place_of(f, "updn", 0, true);
    struct fab_wire_port_info_record r, q = {.info.m_key = 77};
    want(&x, &fab_wire_port_info_record, &q, NULL);
    table(&x, &r, sizeof r, 1);
    ck_assert_uint_eq(r.info.m_key, 0);
    /* a host that guesses the M_Key must not learn from the result that it guessed right */
    want(&x, &fab_wire_port_info_record, &q, NAMES("M_Key"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 0);
    x.req.attr_id = FAB_SA_PKEY_TABLE_RECORD;
    x.req.comp_mask = 0;
    ck_assert_uint_eq(refusal(&x), FAB_SA_REQ_INVALID);
    x.req.trusted = true;
    ck_assert_uint_eq(refusal(&x), 0);
    want(&x, &fab_wire_port_info_record, &q, NULL);
    table(&x, &r, sizeof r, 1);
    ck_assert_uint_eq(r.info.m_key, 77);
    leave(&x);
}
END_TEST

START_TEST(managers_are_told)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 0, true);
    struct fab_wire_sm_info_record r[3], q = {.lid = (uint16_t)lid(&x, host(&x, 2))};
    const struct fab_sm_info others[] = {{.guid = fab_fabric_port(x.f, host(&x, 2))->guid,
                                          .sm_key = 99,
                                          .activity = 5,
                                          .priority = 3,
                                          .state = FAB_SM_STANDBY},
                                         {.guid = 4711, .state = FAB_SM_STANDBY}};
    ((struct fab_fabric *)(uintptr_t)x.f)->self_port = host(&x, 0);
    want(&x, &fab_wire_sm_info_record, &q, NULL);
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 3), 1);
    ck_assert_int_eq(fab_sa_set_managers(x.sa, others, 2), FAB_OK);
    ck_assert_int_eq(fab_sa_set_managers(x.sa, others, FAB_SA_MANAGERS + 1), FAB_E_LIMIT);
    /* no port has the GUID 4711, so this manager has no record */
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 3), 2);
    want(&x, &fab_wire_sm_info_record, &q, NAMES("LID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 3), 1);
    ck_assert_uint_eq(r[0].info.state, FAB_SM_STANDBY);
    ck_assert_uint_eq(r[0].info.priority, 3);
    ck_assert_uint_eq(r[0].info.sm_key, 0);
    leave(&x);
}
END_TEST

START_TEST(get_is_for_one_record)
{
    struct place x = place_of(leaf_spine(2, 1, 2), "updn", 0, true);
    struct fab_wire_node_record n = {.lid = (uint16_t)lid(&x, host(&x, 1))}, got;
    uint8_t answer[FAB_MAD_SIZE];
    x.req.method = FAB_METHOD_GET;
    want(&x, &fab_wire_node_record, &n, NAMES("LID"));
    ck_assert_uint_eq(get(&x, answer), 0);
    ck_assert_uint_eq(answer[3], FAB_METHOD_GET_RESP);
    ck_assert_int_eq(fab_wire_rec_unpack(&fab_wire_node_record, answer + FAB_SA_DATA, 200, &got),
                     FAB_OK);
    ck_assert_uint_eq(got.lid, n.lid);
    n.lid = 0xbfff;
    want(&x, &fab_wire_node_record, &n, NAMES("LID"));
    ck_assert_uint_eq(get(&x, answer), FAB_SA_NO_RECORDS);
    want(&x, &fab_wire_node_record, &n, NULL);
    ck_assert_uint_eq(get(&x, answer), FAB_SA_TOO_MANY_RECORDS);
    x.req.attr_id = 0x1234;
    ck_assert_uint_eq(get(&x, answer), FAB_SMP_BAD_ATTR);
    x.req.attr_id = FAB_SA_NODE_RECORD;
    x.req.method = FAB_METHOD_SET;
    ck_assert_uint_eq(get(&x, answer), FAB_SMP_BAD_ATTR);
    ck_assert_uint_eq(answer[3], FAB_METHOD_GET_RESP);
    x.req.method = FAB_METHOD_GET;
    x.req.attr_id = FAB_ATTR_CLASS_PORT_INFO;
    ck_assert_uint_eq(get(&x, answer), 0);
    ck_assert_uint_eq(answer[FAB_SA_DATA + 1], 2);
    leave(&x);
}
END_TEST

START_TEST(tables_can_be_interrupted)
{
    struct place x = place_of(leaf_spine(3, 2, 4), "updn", 0, true);
    struct fab_wire_node_record n = {.info.node_type = FAB_NODE_SWITCH};
    struct fab_sa_query q;
    uint8_t record[FAB_REC_MAX];
    uint32_t found = 0, pauses = 0;
    int r;
    want(&x, &fab_wire_node_record, &n, NAMES("NodeType"));
    ck_assert_uint_eq(fab_sa_begin(x.sa, &x.req, &q), 0);
    do {
        uint32_t budget = 1;
        r = fab_sa_next(&q, &budget, record);
        found += r == FAB_OK;
        pauses += r == FAB_E_BUSY;
    } while (r != FAB_E_NOT_FOUND);
    ck_assert_uint_eq(found, 5);
    /* a call may examine one record, so the search pauses after each one that does not match, but
     * not after the last */
    ck_assert_uint_eq(pauses, 11);
    leave(&x);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sa");
    TCase *tcase = tcase_create("records");
    tcase_add_test(tcase, every_record_is_there_once);
    tcase_add_test(tcase, components_choose_records);
    tcase_add_test(tcase, arbitration_has_the_blocks_that_ports_have);
    tcase_add_test(tcase, arbitration_shows_the_entries);
    tcase_add_test(tcase, capabilities_match_by_bits);
    tcase_add_test(tcase, keys_are_for_the_trusted);
    tcase_add_test(tcase, managers_are_told);
    tcase_add_test(tcase, get_is_for_one_record);
    tcase_add_test(tcase, tables_can_be_interrupted);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
