/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds files in serialized protobuf descriptors, by file name or by a symbol that the file
 * defines, for the reflection service.
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
/* Finds the file in a serialized FileDescriptorSet. NOT_FOUND, FORMAT. */
int descriptor_by_name(const uint8_t *set, size_t len, const char *name,
                       struct descriptor_file *ret);
/* Finds the file that defines a symbol: the full name of a service, method, message, enumeration or
 * field, without the leading dot. Of a method or field, only the service or message is looked up.
 * NOT_FOUND, FORMAT. */
int descriptor_by_symbol(const uint8_t *set, size_t len, const char *symbol,
                         struct descriptor_file *ret);

#endif
