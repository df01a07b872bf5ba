/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs and unpacks records of subnet administration, part by part, and finds the component of a
 * record that belongs to each bit of a ComponentMask.
 *
 * IBA 15.2.1.2 numbers the components of a record from 0, in the order of the record's table in the
 * specification, including reserved fields. So the code finds the components by visiting the fields
 * in wire order. Each field is one component, each gap before a field is one component, and in some
 * arrays each element is a component. Later releases defined some fields in bits that were reserved
 * before; such a field counts as part of a gap (fab_field.component).
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/sa.h"

int fab_wire_rec_unpack(const struct fab_rec *r, const uint8_t *bytes, size_t len, void *ret_struct)
{
    if (len < r->wire_size)
        return FAB_E_TRUNCATED;
    memset(ret_struct, 0, r->struct_size);
    for (const struct fab_part *p = r->parts, *end = p + r->part_count; p < end; p++)
        (void)fab_wire_attr_unpack(p->attr, bytes + p->at, len - p->at,
                                   (uint8_t *)ret_struct + p->member);
    return FAB_OK;
}

int fab_wire_rec_pack(const struct fab_rec *r, const void *from, uint8_t *bytes, size_t len)
{
    uint8_t copy[FAB_REC_MAX];
    int status = len < r->wire_size ? FAB_E_TRUNCATED : FAB_OK;
    for (const struct fab_part *p = r->parts, *end = p + r->part_count; status == FAB_OK && p < end;
         p++)
        status = fab_wire_attr_pack(p->attr, (const uint8_t *)from + p->member, copy + p->at,
                                    (p + 1 < end ? p[1].at : r->wire_size) - (size_t)p->at);
    if (status != FAB_OK)
        return status;
    memcpy(bytes, copy, r->wire_size);
    memset(bytes + r->wire_size, 0, len - r->wire_size);
    return FAB_OK;
}

const struct fab_rec *fab_wire_rec_by_id(uint16_t attr_id)
{
    for (size_t i = 0; i < FAB_RECS; i++)
        if (fab_wire_recs[i]->id == attr_id)
            return fab_wire_recs[i];
    return NULL;
}

/* ---- components ------------------------------------------------------------------------------ */

struct component {
    /* the field that is the component; NULL: the component is a gap of reserved bits, or a whole
     * part */
    const struct fab_field *field;
    /* the part of the record to which the component belongs; NULL: the component is a gap of
     * reserved bits */
    const struct fab_part *part;
    /* bit: position of the component on the wire. bits: its length. */
    uint16_t bit, bits;
    /* offset (member) and size of the component in the record's struct, both in bytes */
    uint16_t member, size;
};
struct walk {
    const struct fab_rec *record;
    size_t part, field;
    unsigned element;
    /* position of the next component, in bits from the start of the record */
    unsigned bit;
};

static struct component reserved(struct walk *w, unsigned upto)
{
    struct component c = {.bit = (uint16_t)w->bit, .bits = (uint16_t)(upto - w->bit)};
    w->bit = upto;
    return c;
}

static struct component whole_part(struct walk *w, const struct fab_part *p)
{
    struct component c = {.part = p,
                          .bit = (uint16_t)w->bit,
                          .bits = (uint16_t)(p->attr->wire_size * 8u),
                          .member = p->member,
                          .size = p->attr->struct_size};
    w->bit += c.bits;
    w->part++;
    return c;
}

/* Returns the component at the current position of the walk, which belongs to the field `f`, and
 * moves the walk past it. If each element of the field (an array) is a component, this is the next
 * element; otherwise it is the whole field. */
static struct component of_field(struct walk *w, const struct fab_part *p,
                                 const struct fab_field *f)
{
    bool each = f->component == FAB_COMPONENT_EACH;
    unsigned count = each ? 1u : f->repeat;
    unsigned bits = (count - 1u) * f->bit_stride + f->bits;
    struct component c = {.field = f, .part = p, .bit = (uint16_t)w->bit, .bits = (uint16_t)bits};
    c.member = (uint16_t)(p->member + f->member + w->element * f->stride);
    c.size = (uint16_t)((count - 1u) * f->stride + f->member_size);
    w->bit += bits;
    if (!each || ++w->element == f->repeat) {
        w->element = 0;
        w->field++;
    }
    return c;
}

static bool next_component(struct walk *w, struct component *ret)
{
    while (w->part < w->record->part_count) {
        const struct fab_part *p = &w->record->parts[w->part];
        const struct fab_field *f = &p->attr->fields[w->field];
        while (!p->whole && w->field < p->attr->field_count && f->component == FAB_COMPONENT_NONE) {
            w->field++;
            f++;
        }
        if (!p->whole && w->field == p->attr->field_count) {
            w->part++;
            w->field = 0;
            continue;
        }
        unsigned at = p->at * 8u + (p->whole ? 0u : f->bit + w->element * f->bit_stride);
        *ret = w->bit < at ? reserved(w, at) : p->whole ? whole_part(w, p) : of_field(w, p, f);
        return true;
    }
    return false;
}

uint64_t fab_wire_rec_component(const struct fab_rec *r, const char *field)
{
    struct walk w = {.record = r};
    struct component c;
    uint64_t mask = 0;
    for (unsigned i = 0; i < 64 && next_component(&w, &c); i++)
        if (c.part != NULL && strcmp(c.field ? c.field->name : c.part->attr->name, field) == 0)
            mask |= UINT64_C(1) << i;
    return mask;
}

static void set_bits(uint8_t *bytes, unsigned bit, unsigned bits)
{
    for (unsigned i = bit; i < bit + bits; i++)
        bytes[i / 8] |= (uint8_t)(0x80u >> i % 8);
}

void fab_wire_rec_mask_bytes(const struct fab_rec *r, uint64_t comp_mask, uint8_t *ret_bytes)
{
    struct walk w = {.record = r};
    struct component c;
    memset(ret_bytes, 0, r->wire_size);
    for (; comp_mask != 0 && next_component(&w, &c); comp_mask >>= 1)
        if ((comp_mask & 1) != 0 && c.part != NULL)
            set_bits(ret_bytes, c.bit, c.bits);
}

void fab_wire_rec_mask_struct(const struct fab_rec *r, uint64_t comp_mask, void *ret_struct)
{
    struct walk w = {.record = r};
    struct component c;
    memset(ret_struct, 0, r->struct_size);
    for (; comp_mask != 0 && next_component(&w, &c); comp_mask >>= 1)
        if ((comp_mask & 1) != 0 && c.part != NULL)
            memset((uint8_t *)ret_struct + c.member, 0xff, c.size);
}
