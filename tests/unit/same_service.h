/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares ServiceRecords field by field, because their padding bytes may differ. */
#ifndef TESTS_UNIT_SAME_SERVICE_H
#define TESTS_UNIT_SAME_SERVICE_H

#include <check.h>

#include "libfabmgr/wire/sa.h"

static inline void assert_same_service(const struct fab_wire_service_record *a,
                                       const struct fab_wire_service_record *b)
{
    ck_assert_uint_eq(a->id, b->id);
    ck_assert_mem_eq(a->gid, b->gid, sizeof(a->gid));
    ck_assert_uint_eq(a->pkey, b->pkey);
    ck_assert_uint_eq(a->lease, b->lease);
    ck_assert_mem_eq(a->key, b->key, sizeof(a->key));
    ck_assert_mem_eq(a->name, b->name, sizeof(a->name));
    ck_assert_mem_eq(a->data8, b->data8, sizeof(a->data8));
    ck_assert_mem_eq(a->data16, b->data16, sizeof(a->data16));
    ck_assert_mem_eq(a->data32, b->data32, sizeof(a->data32));
    ck_assert_mem_eq(a->data64, b->data64, sizeof(a->data64));
}

#endif
