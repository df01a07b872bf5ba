/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Service levels and virtual lanes: which SL a path takes, and which VL a packet of that SL goes on
 * by at each switch. All of it is small beside the forwarding tables: SLs hang on the destination,
 * or on the pair of switches at the two ends; VLs hang on classes of ports (a dimension, "from
 * another group"), not on ports. Tables for the hardware (SLtoVLMappingTable, IBA 14.2.5.8) follow
 * from it.
 */
#ifndef LIBFABMGR_TARGET_VLS_H
#define LIBFABMGR_TARGET_VLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_SLS 16
#define FAB_VLS_MAX 15 /* data VLs; 15 is for management */
#define FAB_VL_CLASSES 16

/* All zero: one lane, SL 0 and VL 0 everywhere. An engine says what it needs, for SLs 0 to sls - 1;
 * then libfabmgr/qos spreads that over the traffic classes of the policy. */
struct fab_vls {
    uint8_t count; /* data VLs in use, 1..; 0 is as 1. With 1 nothing else here has a meaning */
    uint8_t sls;   /* SLs that paths take: below this */
    /* The SL of a path, by what it hangs on; both NULL: 0. */
    uint32_t top;    /* highest LID */
    uint8_t *of_lid; /* [top + 1] by destination LID, or NULL */
    uint32_t switches;
    uint8_t *of_pair; /* [switches to][switches from] by the switches of both ends, or NULL */
    /* The VL of SL `sl` from a port of class i to one of class o is vl[i][o][sl]. Ports to ends and
     * port 0 are of class 0, and adapters send SL `sl` on vl[0][0][sl]. */
    uint32_t ports;
    uint8_t *port_class; /* [ports] by port id, or NULL: all 0 */
    uint8_t classes;     /* in use, 1.. */
    uint8_t vl[FAB_VL_CLASSES][FAB_VL_CLASSES][FAB_SLS];
    /* Traffic classes ("levels", as classes are of ports here): where above it says SL e, packets
     * of level c have SL sl[c][e]; sl[0][e] is e. Level c goes by lanes lane_set[c] * lanes on: a
     * VL modulo lanes is the lane that the engine meant. */
    uint8_t levels; /* 0 is as 1: then sl[][] and lane_set[] have no meaning */
    uint8_t lanes;  /* of the engine */
    uint8_t sl[FAB_SLS][FAB_SLS];
    uint8_t lane_set[FAB_SLS];
};
/* Set up for `count` VLs (0: none, 1..FAB_VLS_MAX), SL s on VL s mod count for all classes. */
void fab_target_vls_init(struct fab_vls *v, uint8_t count);
/* NOMEM: nothing changed. All paths SL 0. */
int fab_target_vls_by_lid(struct fab_vls *v, uint32_t top);
int fab_target_vls_by_pair(struct fab_vls *v, uint32_t switches);
int fab_target_vls_by_class(struct fab_vls *v, uint32_t ports);
int fab_target_vls_copy(const struct fab_vls *v, struct fab_vls *ret_copy);
void fab_target_vls_fini(struct fab_vls *v);

/* The 8 bytes of an SLtoVLMappingTable as one number, SL 0 in the highest four bits. vl: by SL;
 * `vls` (1..) data VLs there are, the others are folded into them; 15: packets are dropped. */
uint64_t fab_target_sl2vl_pack(const uint8_t vl[FAB_SLS], uint8_t vls);

static inline bool fab_target_vls_multiple(const struct fab_vls *v)
{
    return v->count > 1;
}
static inline uint8_t fab_target_vls_count(const struct fab_vls *v)
{
    return fab_target_vls_multiple(v) ? v->count : 1;
}
/* The SL from an end at switch `from` to LID `lid`, whose switch is `to`. */
static inline uint8_t fab_target_vls_sl(const struct fab_vls *v, uint32_t from, uint32_t to,
                                        uint32_t lid)
{
    if (!fab_target_vls_multiple(v))
        return 0;
    if (v->of_pair)
        return v->of_pair[(size_t)to * v->switches + from];
    return v->of_lid ? v->of_lid[lid] : 0;
}
/* The same for packets of a level. */
static inline uint8_t fab_target_vls_level_sl(const struct fab_vls *v, uint8_t level, uint8_t sl)
{
    return v->levels > 1 ? v->sl[level][sl] : sl;
}
static inline uint8_t fab_target_vls_levels(const struct fab_vls *v)
{
    return v->levels > 1 ? v->levels : 1;
}
/* Packets keep their VL on all of their way, whatever it is: then what waits for what is the same
 * on each as if all were one. */
static inline bool fab_target_vls_keep_vl(const struct fab_vls *v)
{
    return v->levels > 1 && v->of_lid == NULL && v->of_pair == NULL && v->classes <= 1;
}
static inline uint8_t fab_target_vls_port_class(const struct fab_vls *v, uint32_t port)
{
    return v->port_class ? v->port_class[port] : 0;
}
/* The VL by which a switch sends on what came in by port id `in` and goes out by port id `out`. */
static inline uint8_t fab_target_vls_vl(const struct fab_vls *v, uint32_t in, uint32_t out,
                                        uint8_t sl)
{
    return fab_target_vls_multiple(v)
               ? v->vl[fab_target_vls_port_class(v, in)][fab_target_vls_port_class(v, out)][sl]
               : 0;
}

#endif
