/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds a file in serialized protobuf descriptors, by its file name or by a symbol that it defines.
 * The reflection service uses these functions.
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
/* Finds the file `name` in a serialized FileDescriptorSet. Returns NOT_FOUND or FORMAT. */
int descriptor_by_name(const uint8_t *set, size_t len, const char *name,
                       struct descriptor_file *ret);
/* Finds the file that defines a symbol, which is the full name of a service, method, message,
 * enumeration or field without the leading dot. For a method or field, only its service or message
 * is looked up. Returns NOT_FOUND or FORMAT. */
int descriptor_by_symbol(const uint8_t *set, size_t len, const char *symbol,
                         struct descriptor_file *ret);

#endif
