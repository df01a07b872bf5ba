/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Service levels and virtual lanes: the SL of each path, and the VL on which each switch forwards
 * packets of an SL. The SLtoVLMappingTables (IBA 14.2.5.8) are computed from struct fab_vls.
 *
 * Compared with the forwarding tables, struct fab_vls takes little memory. The SL depends on the
 * destination LID, or on the pair of source and destination switch. The VL depends on classes of
 * ports (for example, all ports of one dimension), not on single ports.
 */
#ifndef LIBFABMGR_TARGET_VLS_H
#define LIBFABMGR_TARGET_VLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_SLS 16
/* maximum number of data VLs; VL 15 is for management */
#define FAB_VLS_MAX 15
#define FAB_VL_CLASSES 16

/* If all bytes are zero, there is one VL, and all paths have SL 0 and VL 0. An engine fills in the
 * values that its routing needs, for SLs 0 to `sls` - 1. libfabmgr/qos then adds the SLs and VLs of
 * the policy's traffic classes. */
struct fab_vls {
    /* number of data VLs in use; 0 means 1. With one VL, the other members have no meaning. */
    uint8_t count;
    /* number of SLs that the engine uses, which are SL 0 to SL `sls` - 1 */
    uint8_t sls;
    uint32_t top; /* highest LID */
    /* [top + 1] the SL of paths to each destination LID; NULL: see `of_pair`. If `of_lid` and
     * `of_pair` are both NULL, the SL of all paths is 0. */
    uint8_t *of_lid;
    uint32_t switches;
    /* [destination switch][source switch] the SL of paths between two switches; NULL: the SL does
     * not depend on the source, so `of_lid` has it */
    uint8_t *of_pair;
    uint32_t ports;
    /* [ports] class of each port, by port id; NULL: all ports have class 0. Port 0 and ports that
     * lead to endports have class 0. */
    uint8_t *port_class;
    /* number of classes of ports, at least 1 */
    uint8_t classes;
    /* vl[i][o][sl] is the VL on which a switch forwards a packet of SL `sl` from a port of class i
     * to a port of class o. Adapters send packets of SL `sl` on VL vl[0][0][sl]. */
    uint8_t vl[FAB_VL_CLASSES][FAB_VL_CLASSES][FAB_SLS];
    /* In this struct, traffic classes are called levels, because `class` means a class of ports.
     * The engine chooses an SL and a VL for each path. For a path with SL e and VL v, packets of
     * level c use SL sl[c][e] and VL lane_set[c] * lanes + v. Level 0 keeps the engine's SL:
     * sl[0][e] is e. */
    /* number of levels; 0 means 1. With one level, sl[][] and lane_set[] have no meaning. */
    uint8_t levels;
    uint8_t lanes; /* number of VLs that the engine uses */
    uint8_t sl[FAB_SLS][FAB_SLS];
    uint8_t lane_set[FAB_SLS];
    uint32_t branch_switches;
    /* [branch_switches] A spanning tree for multicast: for each switch, the number of its port that
     * leads towards the root of the tree; 0: the switch is the root, or not in the tree. The engine
     * has left room for this tree: multicast packets of SL 0 on it close no cycle with the paths of
     * the engine. libfabmgr/spanning proves this before it uses the tree. NULL: the engine has
     * reserved no tree. This member has a meaning with one VL, too. */
    uint8_t *branch;
    /* private: number of structs that share the arrays; NULL: the arrays are not shared */
    int *owners;
};
/* Initialises *v for `count` VLs; `count` is 0 to FAB_VLS_MAX. Packets of SL s use VL s mod
 * `count`, for all classes of ports. */
void fab_target_vls_init(struct fab_vls *v, uint8_t count);
/* Each of these four functions allocates one array of *v (`of_lid`, `of_pair`, `port_class`,
 * `branch`) and sets all its elements to zero. They return NOMEM if there is no memory; *v is then
 * unchanged. */
int fab_target_vls_by_lid(struct fab_vls *v, uint32_t top);
int fab_target_vls_by_pair(struct fab_vls *v, uint32_t switches);
int fab_target_vls_by_class(struct fab_vls *v, uint32_t ports);
int fab_target_vls_with_branches(struct fab_vls *v, uint32_t switches);
int fab_target_vls_copy(const struct fab_vls *v, struct fab_vls *ret_copy); /* returns NOMEM */
/* Makes *ret_other a second owner of the arrays of *v. From then on, neither owner may change the
 * arrays. Returns NOMEM. */
int fab_target_vls_share(struct fab_vls *v, struct fab_vls *ret_other);
void fab_target_vls_fini(struct fab_vls *v);

/* Returns the 8 bytes of an SLtoVLMappingTable as one number, with SL 0 in the highest four bits.
 * vl[] has the VL of each SL; 15 makes the port drop packets of this SL. VLs below 15 are taken
 * modulo `vls`, the number of data VLs of the port. */
uint64_t fab_target_sl2vl_pack(const uint8_t vl[FAB_SLS], uint8_t vls);

static inline bool fab_target_vls_multiple(const struct fab_vls *v)
{
    return v->count > 1;
}
static inline uint8_t fab_target_vls_count(const struct fab_vls *v)
{
    return fab_target_vls_multiple(v) ? v->count : 1;
}
/* Returns the SL of a path from an endport at switch `from` to LID `lid` at switch `to`. */
static inline uint8_t fab_target_vls_sl(const struct fab_vls *v, uint32_t from, uint32_t to,
                                        uint32_t lid)
{
    if (!fab_target_vls_multiple(v))
        return 0;
    if (v->of_pair)
        return v->of_pair[(size_t)to * v->switches + from];
    return v->of_lid ? v->of_lid[lid] : 0;
}
/* Returns the SL of packets of a traffic class (level) on a path for which the engine chose SL
 * `sl`. */
static inline uint8_t fab_target_vls_level_sl(const struct fab_vls *v, uint8_t level, uint8_t sl)
{
    return v->levels > 1 ? v->sl[level][sl] : sl;
}
static inline uint8_t fab_target_vls_levels(const struct fab_vls *v)
{
    return v->levels > 1 ? v->levels : 1;
}
/* Returns true if several VLs are used, but each packet keeps one VL on its whole path. Then a
 * proof that treats all packets as if they were on one VL is sufficient. */
static inline bool fab_target_vls_keep_vl(const struct fab_vls *v)
{
    return v->levels > 1 && v->of_lid == NULL && v->of_pair == NULL && v->classes <= 1;
}
static inline uint8_t fab_target_vls_port_class(const struct fab_vls *v, uint32_t port)
{
    return v->port_class ? v->port_class[port] : 0;
}
/* Returns the VL on which a switch forwards packets of SL `sl` from port id `in` to port id
 * `out`. */
static inline uint8_t fab_target_vls_vl(const struct fab_vls *v, uint32_t in, uint32_t out,
                                        uint8_t sl)
{
    return fab_target_vls_multiple(v)
               ? v->vl[fab_target_vls_port_class(v, in)][fab_target_vls_port_class(v, out)][sl]
               : 0;
}

#endif
