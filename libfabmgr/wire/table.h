/* SPDX-License-Identifier: BSD-3-Clause */
/* Macros that define the tables of fields. For this folder only. */
#ifndef LIBFABMGR_WIRE_TABLE_H
#define LIBFABMGR_WIRE_TABLE_H

#include "libfabmgr/wire/wire.h"

#define SIZE_OF(type, member) sizeof(((const type *)0)->member)
#define SCALAR(type, m, spec_name, at, n, how)                                                     \
    {                                                                                              \
        .name = spec_name, .bit = at, .bits = n, .member_size = SIZE_OF(type, m),                  \
        .member = offsetof(type, m), .repeat = 1, .print = how                                     \
    }
/* Defines a field that is an array. The array in the struct has scalars or structs as elements. If
 * they are structs, `m` names a member of the first of them, such as entry[0].vl. */
#define ARRAY(type, m, spec_name, at, n, count, wire_stride, member_stride, how)                   \
    {                                                                                              \
        .name = spec_name, .bit = at, .bits = n, .member_size = SIZE_OF(type, m),                  \
        .member = offsetof(type, m), .repeat = count, .bit_stride = wire_stride,                   \
        .stride = member_stride, .print = how                                                      \
    }
/* Like ARRAY, but each element of the array is a component of its own in the ComponentMask. */
#define ARRAY_EACH(type, m, spec_name, at, n, count, wire_stride, member_stride, how)              \
    {                                                                                              \
        .name = spec_name, .bit = at, .bits = n, .member_size = SIZE_OF(type, m),                  \
        .member = offsetof(type, m), .repeat = count, .bit_stride = wire_stride,                   \
        .stride = member_stride, .print = how, .component = FAB_COMPONENT_EACH                     \
    }
/* Defines a scalar that is not a component of the ComponentMask, because its bits were reserved
 * when IBA numbered the components of the record. */
#define SCALAR_LATE(type, m, spec_name, at, n, how)                                                \
    {                                                                                              \
        .name = spec_name, .bit = at, .bits = n, .member_size = SIZE_OF(type, m),                  \
        .member = offsetof(type, m), .repeat = 1, .print = how, .component = FAB_COMPONENT_NONE    \
    }
#define ATTR(spec_name, attr, bytes, type, table)                                                  \
    {                                                                                              \
        .name = spec_name, .id = attr, .wire_size = bytes, .struct_size = sizeof(type),            \
        .fields = table, .field_count = sizeof(table) / sizeof(table)[0]                           \
    }
#define DEC FAB_PRINT_DEC
#define HEX FAB_PRINT_HEX

#endif
