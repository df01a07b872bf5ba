/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints attributes as text, one line for each field, with the words of the IBA specification. The
 * output goes to a buffer of limited size (struct sink). Bytes that do not fit into the buffer
 * count for the length of the text, but are not written.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/wire/wire.h"

struct sink {
    char *text;
    /* room: size of the buffer in bytes. len: length of the whole text; if it exceeds `room`, the
     * rest of the text is not written. */
    size_t room, len;
};

static void append(struct sink *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void append(struct sink *s, const char *fmt, ...)
{
    va_list args;
    size_t left = s->len < s->room ? s->room - s->len : 0;
    va_start(args, fmt);
    int n = vsnprintf(left > 0 ? s->text + s->len : NULL, left, fmt, args);
    va_end(args);
    s->len += n > 0 ? (size_t)n : 0;
}

static uint64_t member_value(const uint8_t *p, uint8_t size)
{
    union {
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
    } v;
    memcpy(&v, p, size);
    return size == 1 ? v.u8 : size == 2 ? v.u16 : size == 4 ? v.u32 : v.u64;
}

/* Prints the names of the bits that are set in a value, such as "1x|4x". Prints the value as a
 * number if no bit is set, or if a bit without a name is set. */
static void append_set(struct sink *s, uint64_t value, const char *const *names, unsigned count)
{
    const char *between = "";
    if (value == 0 || value >> count != 0) {
        append(s, "%" PRIu64, value);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        if (((value >> i) & 1) == 0)
            continue;
        append(s, "%s%s", between, names[i]);
        between = "|";
    }
}

/* Prints words[value]. If words[] has no word for this value, prints the value as a number. */
static void append_word(struct sink *s, uint64_t value, const char *const *words, unsigned count)
{
    if (value < count && words[value] != NULL)
        append(s, "%s", words[value]);
    else
        append(s, "%" PRIu64, value);
}

static void append_count(struct sink *s, uint64_t value, unsigned meaning)
{
    append(s, "%" PRIu64, meaning != 0 ? meaning : value);
}

static void append_value(struct sink *s, const struct fab_field *f, uint64_t value)
{
    static const char *const node_types[] = {NULL, "CA", "Switch", "Router"};
    static const char *const sm_states[] = {"NotActive", "Discovering", "Standby", "Master"};
    static const char *const widths[] = {"1x", "4x", "8x", "12x", "2x"};
    static const char *const speeds[] = {"SDR", "DDR", "QDR"};
    static const char *const speeds_ext[] = {"FDR", "EDR", "HDR", "NDR"};
    static const char *const speeds_ext2[] = {"XDR"};
    switch ((enum fab_print)f->print) {
    case FAB_PRINT_DEC:
        append(s, "%" PRIu64, value);
        break;
    case FAB_PRINT_HEX:
        append(s, "0x%0*" PRIx64, (f->bits + 3) / 4, value);
        break;
    case FAB_PRINT_NODE_TYPE:
        append_word(s, value, node_types, 4);
        break;
    case FAB_PRINT_SM_STATE:
        append_word(s, value, sm_states, 4);
        break;
    case FAB_PRINT_PORT_STATE:
        append(s, "%s", fab_wire_port_state_name((uint8_t)value));
        break;
    case FAB_PRINT_PHYS_STATE:
        append(s, "%s", fab_wire_phys_state_name((uint8_t)value));
        break;
    case FAB_PRINT_MTU:
        append_count(s, value, fab_wire_mtu_bytes((uint8_t)value));
        break;
    case FAB_PRINT_VLS:
        append_count(s, value, fab_wire_op_vls_count((uint8_t)value));
        break;
    case FAB_PRINT_WIDTHS:
        append_set(s, value, widths, 5);
        break;
    case FAB_PRINT_SPEEDS:
        append_set(s, value, speeds, 3);
        break;
    case FAB_PRINT_SPEEDS_EXT:
        append_set(s, value, speeds_ext, 4);
        break;
    case FAB_PRINT_SPEEDS_EXT2:
        append_set(s, value, speeds_ext2, 1);
        break;
    }
}

size_t fab_wire_attr_print(const struct fab_attr *a, const void *from, char *text, size_t len)
{
    struct sink s = {.text = text, .room = len};
    if (len > 0)
        text[0] = '\0';
    for (const struct fab_field *f = a->fields, *end = f + a->field_count; f < end; f++) {
        const uint8_t *member = (const uint8_t *)from + f->member;
        append(&s, "%s:", f->name);
        for (size_t i = 0; i < f->repeat; i++) {
            append(&s, " ");
            append_value(&s, f, member_value(member + i * f->stride, f->member_size));
        }
        append(&s, "\n");
    }
    return s.len;
}
