/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers to queries of subnet administration (IBA chapter 15) over a view: what is asked for is
 * looked up and computed, never stored. Nothing here changes the fabric or keeps registrations.
 */
#ifndef LIBFABMGR_SA_SA_H
#define LIBFABMGR_SA_SA_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/sa/aliases.h"
#include "libfabmgr/view/view.h"
#include "libfabmgr/wire/sa.h"

/* What is prepared for a view: made in time proportional to its ports, and used by one thread at a
 * time, as it remembers what paths are like. Holds a reference to the view, which has tables. */
struct fab_sa;
int fab_sa_new(const struct fab_view *v, struct fab_sa **ret); /* NOMEM; INVAL: no tables */
void fab_sa_free(struct fab_sa *sa);                           /* NULL is fine */
const struct fab_view *fab_sa_view(const struct fab_sa *sa);
/* Ports are known by these, too, as they are when a query asks; they stay the caller's. NULL: by
 * none. */
void fab_sa_set_aliases(struct fab_sa *sa, const struct fab_sa_aliases *aliases);
/* What other managers said of themselves when they were last asked; copied. LIMIT: too many. */
#define FAB_SA_MANAGERS 64
int fab_sa_set_managers(struct fab_sa *sa, const struct fab_sm_info *info, uint32_t count);
/* The port that owns a LID and is called so, by its own GUID or by an alias; FAB_NONE: none. */
uint32_t fab_sa_port_of_guid(const struct fab_sa *sa, uint64_t guid);

/* ---- paths ------------------------------------------------------------------------------------
 */

struct fab_sa_path {
    uint8_t mtu, rate; /* the least on the way, as PathRecord numbers them */
    uint8_t hops;      /* switches on the way, one at its end included */
};
/* The way of the tables from a port to a LID. UNREACHABLE: they do not lead there. */
int fab_sa_path(struct fab_sa *sa, uint32_t src_port, uint32_t lid, struct fab_sa_path *ret);

/* PathRecord's number of a rate (15.2.5.16): the largest that is not more than so many Mb/s; 0:
 * less than any. And its Mb/s; 0: no such number. */
uint8_t fab_sa_rate(uint32_t mbps);
uint32_t fab_sa_rate_mbps(uint8_t rate);

/* ---- queries ----------------------------------------------------------------------------------
 */

struct fab_sa_query;
/* Records that somebody else keeps, in place of what follows from the view. */
struct fab_sa_source {
    void *ctx;
    /* The record behind *at, and moves it there: four numbers that say which one it is, by its key,
     * since records come and go; all 0: before the first. False: there is no more. */
    bool (*next)(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct);
    bool judges; /* it returns only what was asked for; else it is compared by the components */
};
struct fab_sa_request {
    uint8_t method; /* Get, GetTable, GetMulti, GetTraceTable */
    uint16_t attr_id;
    uint32_t attr_mod;
    uint64_t comp_mask;
    const uint8_t *data; /* FAB_SA_DATA_LEN bytes */
    bool trusted;        /* it came with our SM_Key */
    uint32_t from;       /* the port that asks: it sees those it may talk to. FAB_NONE: all */
    uint32_t activity;   /* our SMInfo's ActCount */
    const struct fab_sa_source *list; /* or NULL; it must stay until the query is over */
};
/* Reads what follows the common header. FORMAT: a class version that is not the SA's, or an RMPP
 * version that is none. TRUNCATED: fewer than FAB_MAD_SIZE bytes. */
int fab_sa_request_read(const uint8_t *mad, size_t len, struct fab_sa_request *ret,
                        uint64_t *ret_sm_key);

/* A query under way; it must stay where it is, and the sa alive. */
struct fab_sa_query {
    struct fab_sa *sa;
    const struct fab_sa_kind *kind; /* private, from here on */
    const struct fab_rec *rec;      /* what the records of the answer are */
    const uint32_t *from, *to;      /* port ids: outer and, for paths, inner */
    uint32_t from_count, to_count;
    uint32_t i, j, inner; /* where it stands, of how many */
    uint8_t method;
    bool trusted;
    uint32_t asker, activity;
    uint64_t comp_mask;
    const struct fab_sa_source *list;
    uint64_t at[4];
    uint8_t want[FAB_REC_MAX],
        mask[FAB_REC_MAX];              /* the record asked for, and its bits that count */
    uint32_t own[FAB_MULTI_PATH_GIDS];  /* room for from and to */
    uint64_t guid[FAB_MULTI_PATH_GIDS]; /* and what these are called */
    uint32_t slid, dlid;                /* 0: not given */
    uint32_t pairs, limit, found;       /* of LIDs of two ports; paths wanted; so far */
    bool routed;                        /* the destination is in another subnet */
    struct fab_path_record path, given;
    uint64_t gid_prefix[2]; /* of SGID and DGID, as asked or ours */
};
/* Status for the answer: 0, or why there is none (enum fab_smp_status, enum fab_sa_status). */
uint16_t fab_sa_begin(struct fab_sa *sa, const struct fab_sa_request *req, struct fab_sa_query *q);
/* The next record, fab_rec_stride(q->rec) bytes of it. NOT_FOUND: no more. BUSY: `*budget` records
 * were looked at, go on later; it is counted down. */
int fab_sa_next(struct fab_sa_query *q, uint32_t *budget, uint8_t *ret_record);

/* Answers a request in one MAD: Get of any record, and ClassPortInfo. Returns its status, also in
 * the answer. Other methods are refused. FAB_SMP_BUSY: the answer is not known after `budget`
 * records; it can be found out as for a table. */
uint16_t fab_sa_get(struct fab_sa *sa, const uint8_t request[FAB_MAD_SIZE],
                    const struct fab_sa_request *req, uint32_t budget,
                    uint8_t answer[FAB_MAD_SIZE]);
/* Whether two ports can talk: some partition has both, and not both limited. Anyone can to itself.
 */
bool fab_sa_share_partition(const struct fab_sa *sa, uint32_t a, uint32_t b);
/* The header of an answer to a request, FAB_SA_DATA bytes, with nothing behind it (the MAD is
 * cleared): method, TID and attribute of the request, SM_Key 0. stride: bytes, of a table. */
void fab_sa_answer_header(const uint8_t request[FAB_MAD_SIZE], uint16_t status, uint16_t stride,
                          uint8_t answer[FAB_MAD_SIZE]);
bool fab_sa_is_table(uint8_t method); /* its answer is a table, sent by RMPP */

#endif
