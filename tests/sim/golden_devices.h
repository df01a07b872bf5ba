/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the attributes that simulated devices hold, as a text for golden files. */
#ifndef TESTS_SIM_GOLDEN_DEVICES_H
#define TESTS_SIM_GOLDEN_DEVICES_H

#include <stdio.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/wire/wire.h"

struct fab_sim;

/* one attribute of a device or port, as text */
struct golden_item {
    const char *attr;
    uint32_t node;
    int port; /* port number; -1: the attribute belongs to the node */
    char *text;
};
/* all attributes of all devices, always in the same order */
struct golden_items {
    struct golden_item *item;
    size_t count, room;
};

void golden_items_read(struct golden_items *to, struct fab_sim *sim);
void golden_items_add(struct golden_items *to, const char *attr, uint32_t node, int port,
                      char *text); /* frees `text` later */
void golden_items_free(struct golden_items *items);
/* Prints all items that differ from those in `before`; NULL: all items. Of PortInfo and SwitchInfo,
 * prints only the fields that changed. Ports with equal texts share a paragraph. */
void golden_items_print(FILE *out, const struct fab_fabric *f, const struct golden_items *now,
                        const struct golden_items *before);
/* Returns the fields of an attribute as text: "Name=value" for each, several on a line. Fields
 * whose names are in skip[] are left out. */
char *golden_fields(const struct fab_attr *attr, const void *value, const char *const *skip);

#endif
