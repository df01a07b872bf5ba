/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds a file in serialized protobuf descriptors, by its file name or by a symbol that it defines.
 * Also reads options of methods and types of fields. The reflection service, the check of roles,
 * and fabricctl use these functions.
 */
#ifndef LIBFABMGR_GRPC_DESCRIPTOR_H
#define LIBFABMGR_GRPC_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

/* A serialized google.protobuf.FileDescriptorProto. */
struct fab_grpc_descriptor_file {
    const uint8_t *bytes;
    size_t len;
};
/* Finds the file `name` in a serialized FileDescriptorSet. Returns NOT_FOUND or FORMAT. */
int fab_grpc_descriptor_by_name(const uint8_t *set, size_t len, const char *name,
                                struct fab_grpc_descriptor_file *ret);
/* Finds the file that defines a symbol, which is the full name of a service, method, message,
 * enumeration or field without the leading dot. For a method or field, finds the file that defines
 * its service or message, even if the service or message has no such method or field. Returns
 * NOT_FOUND or FORMAT. */
int fab_grpc_descriptor_by_symbol(const uint8_t *set, size_t len, const char *symbol,
                                  struct fab_grpc_descriptor_file *ret);
/* Reads an option of a method. `service` is the full name of the service. `option` is the field
 * number of the option, whose type must be an enumeration or a number. Returns NOT_FOUND (no such
 * service or method, or the method lacks the option) or FORMAT. */
int fab_grpc_descriptor_method_option(const uint8_t *set, size_t len, const char *service,
                                      const char *method, uint32_t option, uint64_t *ret);
/* Reads the type of a field. `message` is the full name of the message, which must not be nested in
 * another message. *ret becomes a FieldDescriptorProto.Type, for example 13 for uint32. Returns
 * NOT_FOUND (no such message or field) or FORMAT. */
int fab_grpc_descriptor_field_type(const uint8_t *set, size_t len, const char *message,
                                   const char *field, uint64_t *ret);

#endif
