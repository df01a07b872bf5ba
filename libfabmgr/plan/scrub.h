/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scrub reads the settings that the manager wrote to devices, and compares them with the
 * written values. The functions of this header find the attributes to read, one after the other,
 * and the differences. They leave out multicast forwarding tables: the caller compares these with
 * its trees, by fab_plan_scrub_blocks_differ.
 *
 * A turn is one pass over all devices. There are two kinds: FAB_SCRUB_TABLES reads SwitchInfo, LFT
 * blocks, PortInfo of ports that are up, and P_Key blocks. FAB_SCRUB_LANES reads
 * SLtoVLMappingTables and VLArbitrationTables, which are far more numerous. A turn reads only
 * tables that devices are known to hold. After each attribute, the turn continues with another
 * device, so that consecutive requests go to different devices.
 */
#ifndef LIBFABMGR_PLAN_SCRUB_H
#define LIBFABMGR_PLAN_SCRUB_H

#include "libfabmgr/plan/plan.h"

enum fab_scrub_turn { FAB_SCRUB_TABLES, FAB_SCRUB_LANES, FAB_SCRUB_TURNS };
/* a position in a turn of the scrub; at the beginning of the turn, all members are 0 */
struct fab_scrub_at {
    uint32_t stage, row, node;
    /* private: number of rows of the stage, and number of rows in use in each group of rows (struct
     * stage in scrub.c) */
    uint32_t rows, width;
    bool over;
};
struct fab_scrub_item { /* an attribute that the scrub reads */
    /* port: id of the port, as in struct fab_plan_op; for SL2VL of a switch, the id of its port
     * 0 */
    uint32_t node, port;
    /* block number, which begins with 0 in LFTs and P_Key tables, and with 1 in
     * VLArbitrationTables */
    uint32_t block;
    uint32_t mod; /* attribute modifier */
    uint16_t attr_id;
};
/* Finds the next attribute that the turn must read, and moves *at past it. To limit the time of a
 * call, examines at most `steps` attributes that devices could have. Returns true if *ret has an
 * attribute. After false, the turn is complete if at->over is true; otherwise the caller must call
 * again. */
bool fab_plan_scrub_next(const struct fab_plan_input *in, enum fab_scrub_turn turn,
                         struct fab_scrub_at *at, uint32_t steps, struct fab_scrub_item *ret);
/* Returns an upper limit of the number of attributes that a turn reads from the nodes with ids from
 * `node` up to, but not including, `end`. */
uint64_t fab_plan_scrub_count(const struct fab_plan_input *in, enum fab_scrub_turn turn,
                              uint32_t node, uint32_t end);

struct fab_scrub_difference {
    /* The members field, entry, held and wanted describe the first difference. field: in a table,
     * what differs: "entry", "SL", "weight of entry" or "VL of entry"; otherwise the name of the
     * field that differs */
    const char *field;
    /* which entry differs: a LID, a P_Key index, an SL, or a position in the table */
    uint32_t entry;
    /* the value that was read, and the value that the manager wrote; for the field "M_Key", 1 and
     * 0, because messages must not show keys */
    uint64_t held, wanted;
    uint32_t entries; /* number of entries or fields that differ */
};
/* Compares an attribute that was read with what the device is known to hold. data: the FAB_SMP_DATA
 * bytes that were read. Returns true if there is a difference, and then describes it in *ret. */
bool fab_plan_scrub_differs(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                            const uint8_t *data, struct fab_scrub_difference *ret);
/* Returns true if the attribute that was read shows that the snapshot is out of date: the state of
 * a port differs from that in the snapshot, or a switch reports a change of a port state. A sweep
 * must then read the device again, and a comparison would be meaningless. */
bool fab_plan_scrub_is_stale(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                             const uint8_t *data);
/* Records in `o` the tables that the device holds, and marks VL tables as unknown, so that the next
 * plan writes what differs from the target. SwitchInfo and PortInfo are part of the snapshot, so a
 * sweep must read them again; of PortInfo, `o` has only the P_Key enforcement of switch ports. */
void fab_plan_scrub_record(const struct fab_plan_input *in, const struct fab_scrub_item *item,
                           const uint8_t *data, struct fab_observed *o);
/* Compares two blocks of 16-bit entries, as P_Key tables and multicast forwarding tables have.
 * Returns true if they differ, and then describes the first difference in *ret. */
bool fab_plan_scrub_blocks_differ(const uint16_t *held, const uint16_t *wanted,
                                  struct fab_scrub_difference *ret);

#endif
