/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the reflection service knows of the contract: a look into serialized descriptors, just deep
 * enough to find a file by its name or by what it defines.
 */
#ifndef FABRICD_RPC_DESCRIPTOR_H
#define FABRICD_RPC_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

/* A serialized google.protobuf.FileDescriptorProto. */
struct descriptor_file {
    const uint8_t *bytes;
    size_t len;
};
/* In a serialized FileDescriptorSet. NOT_FOUND, FORMAT. */
int descriptor_by_name(const uint8_t *set, size_t len, const char *name,
                       struct descriptor_file *ret);
/* symbol: the full name of a service, method, message, enumeration or field, without the dot. */
int descriptor_by_symbol(const uint8_t *set, size_t len, const char *symbol,
                         struct descriptor_file *ret);

#endif
