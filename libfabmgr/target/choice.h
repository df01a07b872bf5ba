/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record of how the manager chose the engine for its tables. The record has a row for each engine
 * that the manager considered, with figures of the engine's tables, or with the reason why there
 * are none. The record informs operators; it does not influence any tables.
 */
#ifndef LIBFABMGR_TARGET_CHOICE_H
#define LIBFABMGR_TARGET_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* space for the 16 engines of a chain, and for the results of local search */
#define FAB_CHOICE_ROWS 20

enum fab_choice_outcome {
    FAB_CHOICE_TAKEN,      /* the tables are used */
    FAB_CHOICE_NOT_BETTER, /* the tables were compared with other tables, which are used */
    FAB_CHOICE_REFUSED,    /* the engine does not support the fabric */
    FAB_CHOICE_UNPROVED,   /* the tables did not pass the proof */
    FAB_CHOICE_UNFIT,      /* the tables need more or other virtual lanes than are allowed */
};
/* Figures by which the manager compared tables (libfabmgr/study/quality.h). A lower figure is
 * better, except for the two bandwidths. */
struct fab_choice_figures {
    /* for all-to-all traffic. max_load: greatest channel load. imbalance: max_load divided by the
     * mean channel load. */
    double max_load, imbalance;
    /* mean of the squared channel loads */
    double squares;
    /* In one shift, a channel carries some number of flows; the greatest of these numbers counts.
     * worst_shift: its maximum over all shifts. mean_shift: its mean over all shifts. Both figures
     * are means over several orders of the endports (struct fab_quality_orders). */
    double worst_shift, mean_shift;
    /* Fraction (0..1) of an endport's bandwidth that a flow gets. shift_bandwidth: in shifts, as
     * the mean over several orders of the endports (struct fab_quality_orders).
     * permutation_bandwidth: in random permutations. */
    double shift_bandwidth, permutation_bandwidth;
};
struct fab_choice_row {
    char engine[24];
    enum fab_choice_outcome outcome;
    /* true: the row is about the tables of the engine after local search */
    bool searched;
    bool measured; /* true: `figures` is set */
    struct fab_choice_figures figures;
    uint8_t lanes;    /* number of VLs that the tables use; 0: no tables */
    uint64_t time_us; /* time that engine and proof took, in us; 0: unknown */
    /* a sentence of the engine about its tables, or the reason why there are no tables */
    char why[300];
};
struct fab_choice {
    uint32_t count;
    struct fab_choice_row row[FAB_CHOICE_ROWS];
    int refs; /* number of references; private, atomic */
};
/* Returns an empty record with one reference, or NULL if there is no memory. */
struct fab_choice *fab_target_choice_new(void);
/* fab_target_choice_ref and fab_target_choice_unref accept NULL. A record with several references
 * must not be changed. */
struct fab_choice *fab_target_choice_ref(const struct fab_choice *c);
void fab_target_choice_unref(struct fab_choice *c);

/* Appends a row, and returns it. If the record is full, the new row replaces the last one. */
struct fab_choice_row *fab_target_choice_add(struct fab_choice *c, const char *engine,
                                             enum fab_choice_outcome outcome, const char *why);
/* Returns the row of the tables that are in use (FAB_CHOICE_TAKEN); NULL: there is no such row. */
const struct fab_choice_row *fab_target_choice_taken(const struct fab_choice *c);
/* Makes one sentence for operators from the record: the sentence of the chosen engine about its
 * tables, and the reason for the choice. */
void fab_target_choice_sentence(const struct fab_choice *c, char *ret, size_t len);
/* Lists the engines that made no tables, or whose tables cannot be used, as "ENGINE: REASON;
 * ENGINE: REASON". */
void fab_target_choice_rejected(const struct fab_choice *c, char *ret, size_t len);

#endif
