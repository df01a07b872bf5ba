/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads serialized descriptors (google/protobuf/descriptor.proto) directly in the wire format of
 * protobuf.
 *
 * The field numbers used here are: FileDescriptorSet.file 1; FileDescriptorProto.name 1, package 2,
 * message_type 4, enum_type 5, service 6; ServiceDescriptorProto.method 2;
 * MethodDescriptorProto.options 4; DescriptorProto.field 2; FieldDescriptorProto.type 5. The name
 * of a message, field, enumeration, service or method is field 1.
 */
#include "libfabmgr/grpc/descriptor.h"

#include <stdbool.h>
#include <string.h>

#include "libfabmgr/base/status.h"

struct cursor {
    const uint8_t *at, *end;
    bool bad;
};
/* A field of a serialized protobuf message. `bytes` has the contents of a length-delimited field;
 * NULL: the field is a number. */
struct field {
    uint64_t number;
    uint64_t value; /* the number, if the field has the type varint */
    const uint8_t *bytes;
    size_t len;
};

static uint64_t varint(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
        uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    c->bad = true;
    return 0;
}

static void skip(struct cursor *c, uint64_t n)
{
    if (n > (uint64_t)(c->end - c->at))
        c->bad = true;
    else
        c->at += n;
}

/* Reads the next field of a message. Returns false at the end of the message. If the encoding is
 * wrong, also returns false, and sets c->bad. */
static bool next_field(struct cursor *c, struct field *ret)
{
    if (c->at == c->end || c->bad)
        return false;
    uint64_t key = varint(c);
    *ret = (struct field){.number = key >> 3};
    switch (key & 7) {
    case 0:
        ret->value = varint(c);
        break;
    case 1:
        skip(c, 8);
        break;
    case 2:
        ret->len = (size_t)varint(c);
        ret->bytes = c->at;
        skip(c, ret->len);
        break;
    case 5:
        skip(c, 4);
        break;
    default:
        c->bad = true;
    }
    return !c->bad;
}

static struct cursor cursor(const uint8_t *bytes, size_t len)
{
    return (struct cursor){bytes, bytes + len, false};
}

/* Returns the first length-delimited field with this field number. If there is none, the member
 * `bytes` of the result is NULL. */
static struct field find_field(const uint8_t *bytes, size_t len, uint64_t number)
{
    struct cursor c = cursor(bytes, len);
    struct field f;
    while (next_field(&c, &f))
        if (f.number == number && f.bytes != NULL)
            return f;
    return (struct field){0};
}

static bool is_text(struct field f, const char *text, size_t len)
{
    return f.len == len && (len == 0 || (f.bytes != NULL && memcmp(f.bytes, text, len) == 0));
}

static bool has_name(const struct fab_grpc_descriptor_file *file, const char *name)
{
    return is_text(find_field(file->bytes, file->len, 1), name, strlen(name));
}

/* Returns true if the file defines the symbol. If the symbol is a method, field or enumeration
 * value, returns true if the file defines the service, message or enumeration of this symbol. */
static bool has_symbol(const struct fab_grpc_descriptor_file *file, const char *symbol)
{
    struct field package = find_field(file->bytes, file->len, 2);
    size_t n = strlen(symbol);
    if (n <= package.len + 1 || !is_text(package, symbol, package.len) ||
        (package.len > 0 && symbol[package.len] != '.'))
        return false;
    const char *thing = symbol + package.len + (package.len > 0 ? 1 : 0);
    struct cursor c = cursor(file->bytes, file->len);
    for (struct field f; next_field(&c, &f);)
        if ((f.number == 4 || f.number == 5 || f.number == 6) && f.bytes != NULL &&
            is_text(find_field(f.bytes, f.len, 1), thing, strcspn(thing, ".")))
            return true;
    return false;
}

static int find_file(const uint8_t *set, size_t len,
                     bool (*fits)(const struct fab_grpc_descriptor_file *, const char *),
                     const char *what, struct fab_grpc_descriptor_file *ret)
{
    struct cursor c = cursor(set, len);
    for (struct field f; next_field(&c, &f);) {
        struct fab_grpc_descriptor_file file = {f.bytes, f.len};
        if (f.number == 1 && f.bytes != NULL && fits(&file, what)) {
            *ret = file;
            return FAB_OK;
        }
    }
    return c.bad ? FAB_E_FORMAT : FAB_E_NOT_FOUND;
}

int fab_grpc_descriptor_by_name(const uint8_t *set, size_t len, const char *name,
                                struct fab_grpc_descriptor_file *ret)
{
    return find_file(set, len, has_name, name, ret);
}

int fab_grpc_descriptor_by_symbol(const uint8_t *set, size_t len, const char *symbol,
                                  struct fab_grpc_descriptor_file *ret)
{
    return find_file(set, len, has_symbol, symbol, ret);
}

/* ---- options of methods, types of fields ----------------------------------------------------- */

/* In `bytes`, each field with the field number `number` is an encoded message, and field 1 of that
 * message is its name. Returns the message with the name `name`. If there is none, the member
 * `bytes` of the result is NULL. */
static struct field find_named(const uint8_t *bytes, size_t len, uint64_t number, const char *name)
{
    struct cursor c = cursor(bytes, len);
    for (struct field f; next_field(&c, &f);)
        if (f.number == number && f.bytes != NULL &&
            is_text(find_field(f.bytes, f.len, 1), name, strlen(name)))
            return f;
    return (struct field){0};
}

/* Reads the number with this field number in the message `in`. Returns NOT_FOUND or FORMAT. */
static int find_number(struct field in, uint64_t number, uint64_t *ret)
{
    struct cursor c = cursor(in.bytes, in.len);
    for (struct field f; next_field(&c, &f);) {
        if (f.number == number && f.bytes == NULL) {
            *ret = f.value;
            return FAB_OK;
        }
    }
    return c.bad ? FAB_E_FORMAT : FAB_E_NOT_FOUND;
}

int fab_grpc_descriptor_method_option(const uint8_t *set, size_t len, const char *service,
                                      const char *method, uint32_t option, uint64_t *ret)
{
    struct fab_grpc_descriptor_file file;
    const char *dot = strrchr(service, '.');
    int rc = fab_grpc_descriptor_by_symbol(set, len, service, &file);
    if (rc < 0)
        return rc;
    struct field s = find_named(file.bytes, file.len, 6, dot != NULL ? dot + 1 : service);
    struct field m = find_named(s.bytes, s.len, 2, method);
    struct field options = find_field(m.bytes, m.len, 4);
    return find_number(options, option, ret);
}

int fab_grpc_descriptor_field_type(const uint8_t *set, size_t len, const char *message,
                                   const char *field, uint64_t *ret)
{
    struct fab_grpc_descriptor_file file;
    const char *dot = strrchr(message, '.');
    int rc = fab_grpc_descriptor_by_symbol(set, len, message, &file);
    if (rc < 0)
        return rc;
    struct field m = find_named(file.bytes, file.len, 4, dot != NULL ? dot + 1 : message);
    return find_number(find_named(m.bytes, m.len, 2, field), 5, ret);
}
