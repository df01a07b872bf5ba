/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers queries of subnet administration (IBA chapter 15) from a view. Each answer is computed
 * anew, not stored. No function here changes the fabric or keeps registrations.
 */
#ifndef LIBFABMGR_SA_SA_H
#define LIBFABMGR_SA_SA_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/sa/aliases.h"
#include "libfabmgr/view/view.h"
#include "libfabmgr/wire/sa.h"

/* Data prepared for a view, in time proportional to its ports. It caches properties of paths, so
 * only one thread at a time may use it. It holds a reference to the view. The view must have
 * tables. */
struct fab_sa;
int fab_sa_new(const struct fab_view *v, struct fab_sa **ret); /* NOMEM; INVAL: the view has no
                                                                  tables */
void fab_sa_free(struct fab_sa *sa);                           /* NULL is fine */
const struct fab_view *fab_sa_view(const struct fab_sa *sa);
/* Sets the alias GUIDs by which requests can also name ports. The caller owns `aliases` and may
 * change them between queries. NULL: none. */
void fab_sa_set_aliases(struct fab_sa *sa, const struct fab_sa_aliases *aliases);
/* Sets the SMInfo that other managers answered last; the function copies it. LIMIT: more than
 * FAB_SA_MANAGERS. */
#define FAB_SA_MANAGERS 64
int fab_sa_set_managers(struct fab_sa *sa, const struct fab_sm_info *info, uint32_t count);
/* Returns the port that owns a LID and has this GUID or alias GUID; FAB_NONE: none. */
uint32_t fab_sa_port_of_guid(const struct fab_sa *sa, uint64_t guid);

/* ---- paths ----------------------------------------------------------------------------------- */

struct fab_sa_path {
    uint8_t mtu, rate; /* the lowest on the path, as PathRecord encodes them (IBA 15.2.5.16) */
    uint8_t hops;      /* switches on the path, including one at its end */
};
/* Finds the path by the active tables from a port to a LID. UNREACHABLE: the tables do not lead
 * there. */
int fab_sa_path(struct fab_sa *sa, uint32_t src_port, uint32_t lid, struct fab_sa_path *ret);

/* Encodings of rates in PathRecord (IBA 15.2.5.16). fab_sa_rate returns that of the highest rate
 * that does not exceed mbps, or 0 if mbps is lower than any rate. fab_sa_rate_mbps returns the Mb/s
 * of an encoding, or 0 if it is unknown. */
uint8_t fab_sa_rate(uint32_t mbps);
uint32_t fab_sa_rate_mbps(uint8_t rate);

/* ---- queries --------------------------------------------------------------------------------- */

#define FAB_SA_ANYBODY (FAB_NONE - 1)
struct fab_sa_query;
/* A source of records that cannot be computed from the view, such as registrations. */
struct fab_sa_source {
    void *ctx;
    /* Writes the record that follows the key at[], and stores its key in at[]. The key consists of
     * four numbers; with four zeros, the first record follows. It is not an index, because records
     * can be added and removed between calls. False: no more records. */
    bool (*next)(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);
    bool filters; /* next() returns matching records only; otherwise fab_sa_next compares them */
};
struct fab_sa_request {
    uint8_t method; /* Get, GetTable, GetMulti, GetTraceTable */
    uint16_t attr_id;
    uint32_t attr_mod;
    uint64_t comp_mask;
    const uint8_t *data; /* FAB_SA_DATA_LEN bytes */
    bool trusted;        /* the request carries our SM_Key */
    uint32_t from; /* the requesting port, which sees only the ports with which it may communicate;
                      FAB_NONE: no port has the requester's LID, so the requester is in no partition
                      and sees no port; FAB_SA_ANYBODY: the requester sees all ports */
    uint32_t activity;                /* ActCount of our SMInfo */
    const struct fab_sa_source *list; /* source of the records, or NULL; must outlive the query */
};
/* Reads the SA header of a MAD. FORMAT: not an SA MAD, or an unsupported class or RMPP version.
 * TRUNCATED: shorter than FAB_MAD_SIZE. */
int fab_sa_request_read(const uint8_t *mad, size_t len, struct fab_sa_request *ret,
                        uint64_t *ret_sm_key);

/* A query in progress. The struct must not be moved, and `sa` must outlive it. */
struct fab_sa_query {
    struct fab_sa *sa;
    const struct fab_sa_kind *kind; /* private from here on */
    const struct fab_rec *rec;      /* the kind of record in the answer */
    const uint32_t *from, *to;      /* port ids: sources, and for paths destinations */
    uint32_t from_count, to_count;
    /* The next record is record j of port from[i], which has `inner` records. */
    uint32_t i, j, inner;
    uint8_t method;
    bool trusted;
    uint32_t asker, activity;
    uint64_t comp_mask;
    const struct fab_sa_source *list;
    uint64_t at[4];
    uint8_t want[FAB_REC_MAX],
        mask[FAB_REC_MAX];              /* the record in the request, and the bits to compare */
    uint32_t own[FAB_MULTI_PATH_GIDS];  /* storage for from and to */
    uint64_t guid[FAB_MULTI_PATH_GIDS]; /* GUIDs by which the request named the ports in own[] */
    uint32_t slid, dlid;                /* 0: not given */
    /* pairs: most pairs of LIDs that two ports have. limit: most paths between two ports that the
     * request allows. found: number of paths found so far between the current two ports. */
    uint32_t pairs, limit, found;
    bool routed; /* the destination is in another subnet */
    struct fab_wire_path_record path, given;
    uint64_t gid_prefix[2]; /* prefixes of SGID and DGID: those in the request, or our own */
};
/* Starts a query. Returns the status of the answer: 0, or the reason why there is none (enum
 * fab_smp_status, enum fab_sa_status). */
uint16_t fab_sa_begin(struct fab_sa *sa, const struct fab_sa_request *req, struct fab_sa_query *q);
/* Writes the next record, fab_wire_rec_stride(q->rec) bytes. NOT_FOUND: no more records. BUSY:
 * `*budget` records were examined; call again with a new budget. *budget is counted down. */
int fab_sa_next(struct fab_sa_query *q, uint32_t *budget, uint8_t *ret_record);

/* Answers a request in one MAD: Get of any record, and ClassPortInfo; other methods are refused.
 * Returns the status that is in the answer. FAB_SMP_BUSY: `budget` records did not suffice for an
 * answer; use fab_sa_begin and fab_sa_next instead. */
uint16_t fab_sa_get(struct fab_sa *sa, const uint8_t request[FAB_MAD_SIZE],
                    const struct fab_sa_request *req, uint32_t budget,
                    uint8_t answer[FAB_MAD_SIZE]);
/* Returns whether two ports can communicate: they share a partition in which one is a full member
 * (IBA 10.9.3). A port can always communicate with itself. */
bool fab_sa_share_partition(const struct fab_sa *sa, uint32_t a, uint32_t b);
/* Returns whether the requester is in the partition of a P_Key, or sees all ports. */
bool fab_sa_in_partition(const struct fab_sa_query *q, uint16_t pkey);
/* Returns whether the requester may see a port (an endport, or port 0 of a switch). */
bool fab_sa_may_see(const struct fab_sa_query *q, uint32_t port);
/* Writes the header of an answer, FAB_SA_DATA bytes, and clears the rest of the MAD. Method, TID
 * and attribute follow from the request; SM_Key is 0. stride: bytes of a record in a table. */
void fab_sa_answer_header(const uint8_t request[FAB_MAD_SIZE], uint16_t status, uint16_t stride,
                          uint8_t answer[FAB_MAD_SIZE]);
bool fab_sa_is_table(uint8_t method); /* the answer has many records, and is sent by RMPP */

#endif
