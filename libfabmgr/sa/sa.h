/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers queries of subnet administration (IBA chapter 15) from a view. Each answer is computed
 * when it is requested. These functions do not change the fabric, and store no registrations. */
#ifndef LIBFABMGR_SA_SA_H
#define LIBFABMGR_SA_SA_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/sa/aliases.h"
#include "libfabmgr/view/view.h"
#include "libfabmgr/wire/sa.h"

/* Data that is prepared from a view with tables, so that queries are fast. The preparation takes
 * time proportional to the number of ports. Queries store properties of paths in this data, so only
 * one thread at a time may use it. The data has a reference to the view. */
struct fab_sa;
/* Prepares the data for queries. Returns NOMEM, or INVAL if the view has no tables. */
int fab_sa_new(const struct fab_view *v, struct fab_sa **ret);
void fab_sa_free(struct fab_sa *sa); /* sa may be NULL */
const struct fab_view *fab_sa_view(const struct fab_sa *sa);
/* Sets the alias GUIDs by which requests can name ports. The caller owns *aliases, and may change
 * it between queries. NULL: no port has alias GUIDs. */
void fab_sa_set_aliases(struct fab_sa *sa, const struct fab_sa_aliases *aliases);
#define FAB_SA_MANAGERS 64
/* Sets the SMInfo that each other manager sent last. Copies info[count]. Returns LIMIT if `count`
 * exceeds FAB_SA_MANAGERS. */
int fab_sa_set_managers(struct fab_sa *sa, const struct fab_sm_info *info, uint32_t count);
/* Returns the port with this port GUID or alias GUID. Returns FAB_NONE if there is none, or if the
 * port has no LID. */
uint32_t fab_sa_port_of_guid(const struct fab_sa *sa, uint64_t guid);

/* ---- paths ----------------------------------------------------------------------------------- */

struct fab_sa_path {
    /* the lowest MTU and the lowest rate of the links on the path, as encoded in PathRecord (IBA
     * 15.2.5.16) */
    uint8_t mtu, rate;
    /* number of switches on the path, including a switch at its end */
    uint8_t hops;
};
/* Finds MTU, rate and hops of the path from a port to a LID through the active tables. Returns
 * UNREACHABLE if the tables do not lead to the LID. */
int fab_sa_path(struct fab_sa *sa, uint32_t src_port, uint32_t lid, struct fab_sa_path *ret);

/* fab_sa_rate returns the PathRecord encoding (IBA 15.2.5.16) of the highest rate that does not
 * exceed `mbps`; 0: all rates exceed it. fab_sa_rate_mbps returns the rate in Mb/s for such an
 * encoding; 0: the encoding is not defined. */
uint8_t fab_sa_rate(uint32_t mbps);
uint32_t fab_sa_rate_mbps(uint8_t rate);

/* ---- queries --------------------------------------------------------------------------------- */

#define FAB_SA_ANYBODY (FAB_NONE - 1)
struct fab_sa_query;
/* A source of records that cannot be computed from the view, such as registrations. */
struct fab_sa_source {
    void *ctx;
    /* Writes the first record whose key is higher than at[] to *ret_struct, and stores the key of
     * this record in at[]. A key has four numbers; the query sets them to zero before the first
     * call. A key is used instead of an index, because records can be added and removed between two
     * calls. Returns false if there are no more records. */
    bool (*next)(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);
    /* true: next() returns only records that match the query; false: the query compares each
     * record */
    bool filters;
};
struct fab_sa_request {
    /* method of the request: FAB_METHOD_GET, FAB_METHOD_GET_TABLE, FAB_METHOD_GET_MULTI or
     * FAB_METHOD_GET_TRACE_TABLE */
    uint8_t method;
    uint16_t attr_id;
    uint32_t attr_mod;
    uint64_t comp_mask;
    const uint8_t *data; /* the attribute, FAB_SA_DATA_LEN bytes */
    bool trusted;        /* the request carries the right SM_Key */
    /* Port id of the requester. Unless `trusted` is true, the requester sees only ports with which
     * it shares a partition. FAB_NONE: no port has the requester's LID, so it sees no port.
     * FAB_SA_ANYBODY: the requester sees all ports. */
    uint32_t from;
    uint32_t activity; /* ActCount in the SMInfo of this manager */
    /* the source of the records, which must exist as long as the query; NULL: the query makes the
     * records from the view */
    const struct fab_sa_source *list;
};
/* Reads the SA header of a MAD. *ret_sm_key receives the SM_Key. Returns TRUNCATED if the MAD is
 * shorter than FAB_MAD_SIZE. Returns FORMAT if it is no SA MAD, or if its class version or RMPP
 * version is not supported. */
int fab_sa_request_read(const uint8_t *mad, size_t len, struct fab_sa_request *ret,
                        uint64_t *ret_sm_key);

/* A query in progress. The struct must not be moved, and `sa` must exist as long as the query. */
struct fab_sa_query {
    struct fab_sa *sa;
    const struct fab_sa_kind *kind; /* this member and those below are private */
    const struct fab_rec *rec;      /* the kind of record in the answer */
    /* port ids of sources and, for paths, of destinations */
    const uint32_t *from, *to;
    uint32_t from_count, to_count;
    /* Position of the query: the next record is record j of port from[i]. `inner`: number of
     * records that count() returned for this port. */
    uint32_t i, j, inner;
    uint8_t method;
    bool trusted;
    uint32_t asker, activity;
    uint64_t comp_mask;
    const struct fab_sa_source *list;
    uint64_t at[4];
    /* want: the request as a record on the wire. mask: the bits of the components that the request
     * selects. A record matches if it equals `want` in all bits of `mask`. */
    uint8_t want[FAB_REC_MAX], mask[FAB_REC_MAX];
    /* memory for `from` and `to`, used if the request names the ports */
    uint32_t own[FAB_MULTI_PATH_GIDS];
    /* for each port in own[], the GUID by which the request named it */
    uint64_t guid[FAB_MULTI_PATH_GIDS];
    uint32_t slid, dlid; /* LIDs in the request; 0: the request has none */
    /* pairs: upper limit of the number of LID pairs of a source and a destination. limit: number of
     * paths that the request permits between two ports. found: number of paths found so far between
     * the present two ports. */
    uint32_t pairs, limit, found;
    bool routed; /* true: the destination is in another subnet */
    struct fab_wire_path_record path, given;
    /* GID prefixes of source and destination: the prefixes of SGID and DGID in the request, or the
     * prefix of this subnet if the request has no GID */
    uint64_t gid_prefix[2];
};
/* Begins a query. Returns 0, or, if the query cannot be made, the status for the answer (enum
 * fab_smp_status or enum fab_sa_status), which then has no records. */
uint16_t fab_sa_begin(struct fab_sa *sa, const struct fab_sa_request *req, struct fab_sa_query *q);
/* Writes the next record, which has fab_wire_rec_stride(q->rec) bytes. Each record that is examined
 * lowers *budget by 1. Returns NOT_FOUND if there are no more records. Returns BUSY if *budget is
 * used up; the caller must then call again, with a new budget. */
int fab_sa_next(struct fab_sa_query *q, uint32_t *budget, uint8_t *ret_record);

/* Answers a request whose answer is a single MAD: Get of a record or of ClassPortInfo. Refuses
 * other methods. Returns the status that it has written into the answer. FAB_SMP_BUSY means that it
 * has examined `budget` records, and that this was not enough; then use fab_sa_begin and
 * fab_sa_next. */
uint16_t fab_sa_get(struct fab_sa *sa, const uint8_t request[FAB_MAD_SIZE],
                    const struct fab_sa_request *req, uint32_t budget,
                    uint8_t answer[FAB_MAD_SIZE]);
/* Returns true if ports `a` and `b` can communicate: both are members of one partition, and at
 * least one of them is a full member (IBA 10.9.3). A port can always communicate with itself. */
bool fab_sa_share_partition(const struct fab_sa *sa, uint32_t a, uint32_t b);
/* Returns true if the requester is a member of the partition with this P_Key, or may see all
 * ports. */
bool fab_sa_in_partition(const struct fab_sa_query *q, uint16_t pkey);
/* Returns true if the requester may see an endport. */
bool fab_sa_may_see(const struct fab_sa_query *q, uint32_t port);
/* Writes the header of an answer (FAB_SA_DATA bytes), and clears the rest of the MAD. Takes the
 * transaction ID from the request, and derives the method and the attribute from those of the
 * request; SM_Key is 0. stride: distance in bytes from one record to the next. */
void fab_sa_answer_header(const uint8_t request[FAB_MAD_SIZE], uint16_t status, uint16_t stride,
                          uint8_t answer[FAB_MAD_SIZE]);
/* Returns true if the response to this method can have many records, and must therefore be sent
 * with RMPP. */
bool fab_sa_is_table(uint8_t method);

#endif
