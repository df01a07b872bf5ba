/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is wanted of congestion control: a profile, what is known of the fabric beyond what its
 * ports say, and values that an operator sets himself, each of which stands instead of the
 * computed one.
 */
#ifndef LIBFABMGR_POLICY_CONGESTION_H
#define LIBFABMGR_POLICY_CONGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fab_congestion_profile {
    FAB_CONGESTION_OFF,        /* nothing marks, nobody slows down */
    FAB_CONGESTION_BALANCED,   /* many small and a few large crowds beside traffic without any */
    FAB_CONGESTION_INCAST,     /* storage: crowds are large and last */
    FAB_CONGESTION_COLLECTIVE, /* training: crowds are short, and throughput is all */
    FAB_CONGESTION_PROFILES
};
/* "off", "balanced", "incast", "collective" */
const char *fab_policy_congestion_profile_name(uint8_t profile);

/* Values that can be set by hand. */
enum fab_congestion_value {
    FAB_CONGESTION_THRESHOLD,         /* 0..15, of switch ports to adapters */
    FAB_CONGESTION_SWITCH_THRESHOLD,  /* 0..15, of switch ports to switches */
    FAB_CONGESTION_MARKING_RATE,      /* 0..65535 packets between two marks */
    FAB_CONGESTION_PACKET_SIZE,       /* 0..255, of 64 bytes */
    FAB_CONGESTION_VICTIM_MASK,       /* 0, 1: ports to adapters mark without credits */
    FAB_CONGESTION_TIMER,             /* 1..65535, of 1.024 us */
    FAB_CONGESTION_INCREASE,          /* 1..255 */
    FAB_CONGESTION_TRIGGER_THRESHOLD, /* 0..255 */
    FAB_CONGESTION_MIN,               /* 0..255 */
    FAB_CONGESTION_LIMIT,             /* 1..255: the table's last index */
    FAB_CONGESTION_VALUES
};
struct fab_congestion_domain {
    const char *name; /* "marking_rate" */
    uint16_t least, most;
};
extern const struct fab_congestion_domain fab_policy_congestion_domains[FAB_CONGESTION_VALUES];

#define FAB_CONGESTION_AUTO (-1)
#define FAB_CONGESTION_FAN_IN_MOST 16384u /* the longest delay that a table holds */
#define FAB_CONGESTION_TABLE_MOST 256
struct fab_policy_congestion {
    bool apply;          /* devices are set; else all of it is only computed and shown */
    uint8_t profile;     /* enum fab_congestion_profile */
    uint64_t key;        /* CC_Key: shown with every Set; 0: none */
    uint32_t fan_in;     /* most senders to one end at a time; 0: from what else is known */
    uint32_t hop_ns;     /* through a switch */
    uint32_t adapter_ns; /* through an adapter */
    uint32_t cable_m;    /* length of cables */
    uint32_t queue_kb;   /* buffer of a switch port for one VL */
    int32_t value[FAB_CONGESTION_VALUES]; /* FAB_CONGESTION_AUTO: computed */
    uint16_t table_count; /* entries of the control table as they go on the wire; 0: computed */
    uint16_t table[FAB_CONGESTION_TABLE_MOST];
};
void fab_policy_congestion_defaults(struct fab_policy_congestion *p);
/* RANGE and a sentence that begins with the field's name. */
int fab_policy_congestion_validate(const struct fab_policy_congestion *p, char *why,
                                   size_t why_len);

#endif
