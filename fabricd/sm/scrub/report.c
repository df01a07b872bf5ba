/* SPDX-License-Identifier: BSD-3-Clause */
/* Emits events about settings that the scrub found changed: in each turn up to SM_EVENTS_A_ROUND
 * events, each about one setting. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/sm/scrub/state.h"

/* Writes the value of a field as text. Port numbers, levels and LIDs are decimal; P_Keys, port
 * masks and prefixes are hexadecimal. Of an M_Key, the text only says whose key it is ("another
 * key", "its own key"). */
static void write_value(uint16_t attr_id, const char *field, uint64_t value, char text[24])
{
    bool hex = attr_id == FAB_ATTR_PKEY_TABLE || attr_id == FAB_ATTR_MFT ||
               strcmp(field, "GIDPrefix") == 0;
    if (strcmp(field, "M_Key") == 0)
        snprintf(text, 24, "%s", value ? "another key" : "its own key");
    else
        snprintf(text, 24, hex ? "0x%" PRIx64 : "%" PRIu64, value);
}

static bool has_entries(uint16_t attr_id)
{
    return attr_id != FAB_ATTR_PORT_INFO && attr_id != FAB_ATTR_SWITCH_INFO;
}

void sm_scrub_report(struct sm *s, const struct sm_scrub_slot *x,
                     const struct fab_scrub_difference *d, uint32_t violations)
{
    const struct fab_fabric *f = s->model.fabric;
    bool of_port = x->item.attr_id == FAB_ATTR_PORT_INFO ||
                   x->item.attr_id == FAB_ATTR_PKEY_TABLE || x->item.attr_id == FAB_ATTR_VLARB;
    char name[SM_PLACE_LEN], place[64], found[24], written[24], author[96] = "author unknown";
    if (of_port)
        sm_port_name(f, x->item.port, name);
    else
        sm_node_name(f, x->item.node, name);
    if (x->item.attr_id == FAB_ATTR_MFT)
        snprintf(place, sizeof(place), "%s 0x%" PRIx32, d->field, d->entry);
    else if (has_entries(x->item.attr_id))
        snprintf(place, sizeof(place), "%s %" PRIu32, d->field, d->entry);
    else
        snprintf(place, sizeof(place), "%s", d->field);
    write_value(x->item.attr_id, d->field, d->held, found);
    write_value(x->item.attr_id, d->field, d->wanted, written);
    if (x->item.attr_id == FAB_ATTR_MFT && x->turn == FAB_SCRUB_LANES && !s->scrub->mfts_scanned)
        snprintf(author, sizeof(author),
                 "author unknown, perhaps from before this manager started");
    if (violations)
        snprintf(author, sizeof(author), "its port counted %" PRIu32 " M_Key violations meanwhile",
                 violations);
    event_emit(s->in.bus, settings_changed, .subject = name, .guid = x->guid,
               .port = of_port ? x->num : 0, .attribute = sm_attr_name(x->item.attr_id),
               .place = place, .found = found, .written = written, .differences = d->entries,
               .author = author);
}

void sm_scrub_summarize(struct sm *s, const struct sm_scrub_turn *t)
{
    if (t->differences > SM_EVENTS_A_ROUND)
        event_emit(s->in.bus, settings_changed_more, .subject = "fabric",
                   .attributes = t->differences - SM_EVENTS_A_ROUND);
}
