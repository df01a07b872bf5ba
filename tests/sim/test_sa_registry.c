/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services that hosts register with subnet administration: with leases and keys, and visible only
 * to permitted hosts.
 */
#include "tests/sim/sa_scene.h"
#include "tests/unit/same_service.h"

START_TEST(a_service_is_found_until_it_is_taken_back)
{
    open_scene(false);
    struct fab_wire_service_record a = service_of(1, 0x1234, UINT32_MAX),
                                   b = service_of(2, 9, UINT32_MAX), got;
    uint64_t by_id = service_component("ServiceID");
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, &got), 0);
    ck_assert_uint_eq(scene.answer[3], FAB_METHOD_GET_RESP);
    assert_same_service(&got, &a);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_SET, 0, all_of_service(), &b, NULL), 0);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, by_id, &a, &got), 0);
    assert_same_service(&got, &a);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, 0, &a, NULL),
                      FAB_SA_TOO_MANY_RECORDS);
    ck_assert_uint_eq(
        service(host_lid(3), FAB_METHOD_GET, 0, service_component("ServiceData64"), &b, &got), 0);
    ck_assert_uint_eq(got.id, 9);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_DELETE, 0, all_of_service(), &a, NULL),
                      FAB_SA_REQ_INVALID); /* the service belongs to another host */
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_DELETE, 0, all_of_service(), &a, &got), 0);
    ck_assert_uint_eq(scene.answer[3], FAB_METHOD_DELETE | FAB_METHOD_RESPONSE);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_DELETE, 0, all_of_service(), &a, NULL),
                      FAB_SA_NO_RECORDS);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, by_id, &a, NULL), FAB_SA_NO_RECORDS);
    ck_assert_uint_eq(sa_services(scene.sa)->count, 1);
    close_scene();
}
END_TEST

START_TEST(keys_are_asked_for_and_not_told)
{
    open_scene(false);
    struct fab_wire_service_record a = service_of(1, 5, UINT32_MAX), wrong, got;
    uint64_t by_id = service_component("ServiceID");
    a.key[1] = 77;
    wrong = a;
    wrong.key[0] = 1;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, &got), 0);
    ck_assert_uint_eq(got.key[1], 0);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &a, &got), 0);
    ck_assert_uint_eq(got.key[1], 0);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, SM_KEY, by_id, &a, &got), 0);
    ck_assert_uint_eq(got.key[1], 77);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &wrong, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_DELETE, 0, all_of_service(), &wrong, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_DELETE, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(
        service(host_lid(3), FAB_METHOD_DELETE, SM_KEY, all_of_service(), &wrong, NULL), 0);
    close_scene();
}
END_TEST

START_TEST(leases_run_out)
{
    open_scene(true);
    struct fab_wire_service_record a = service_of(1, 1, 10), b = service_of(1, 2, 100), got;
    uint64_t by_id = service_component("ServiceID");
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &b, NULL), 0);
    lab_run_for(&scene.lab, 5);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &a, &got), 0);
    ck_assert_uint_le(got.lease, 5);
    lab_run_for(&scene.lab, 6);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &a, NULL), FAB_SA_NO_RECORDS);
    start_again();
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &b, &got), 0);
    ck_assert_uint_le(got.lease, 89);
    ck_assert_uint_gt(got.lease, 10);
    lab_run_for(&scene.lab, 95);
    ck_assert_uint_eq(sa_services(scene.sa)->count, 0);
    close_scene();
}
END_TEST

START_TEST(senseless_services_are_refused)
{
    open_scene(false);
    struct fab_wire_service_record a = service_of(1, 1, UINT32_MAX), foreign = a, got;
    uint64_t no_gid = all_of_service() & ~service_component("ServiceGID");
    uint64_t no_key = all_of_service() & ~service_component("ServiceP_Key");
    foreign.gid[1] = 0x123456;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_gid, &a, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &foreign, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(200, FAB_METHOD_SET, 0, all_of_service(), &a, NULL),
                      FAB_SA_REQ_INVALID); /* no port has that LID */
    a.pkey = 0x1234;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_key, &a, &got), 0);
    ck_assert_uint_eq(got.pkey, 0xffff);
    for (uint64_t id = 100; id < 100 + FAB_SERVICES_EACH - 1; id++) {
        a.id = id;
        ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_key, &a, NULL), 0);
    }
    a.id = 99;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_key, &a, NULL),
                      FAB_SA_NO_RESOURCES);
    a = service_of(2, 99, 1);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_SET, 0, no_key, &a, NULL), 0);
    close_scene();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sa registry");
    TCase *tcase = tcase_create("registry");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_service_is_found_until_it_is_taken_back);
    tcase_add_test(tcase, keys_are_asked_for_and_not_told);
    tcase_add_test(tcase, leases_run_out);
    tcase_add_test(tcase, senseless_services_are_refused);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
