/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds rails. In clusters for machine learning, the adapters of a server are attached to different
 * leaves: "mlx5_0" of many servers to one leaf, "mlx5_1" to another leaf, and so on. Collective
 * traffic stays among adapters of the same name. All leaves to which adapters of one name are
 * attached form a rail.
 *
 * The last word of a NodeDescription names the adapter of the server ("node-0001 mlx5_0",
 * "node-0001/mlx5_0", "n1 HCA-1"). The fabric has rails if at least three quarters of the hosts of
 * each leaf have the same last word, this word is not the same on all leaves, and there are at most
 * RAILS different words.
 *
 * Leaves are then numbered rail by rail (tree.c), so that the leaves of a rail have consecutive
 * numbers. Ring collectives and shifts among the hosts of a rail are then free of conflicts.
 */
#include <string.h>

#include "libfabmgr/route/fattree/tree.h"

#define RAILS 64

static const char *last_word(const char *desc)
{
    const char *word = NULL;
    for (const char *c = desc; *c != '\0'; c++) {
        if (*c == ' ' || *c == '/')
            word = c + 1;
    }
    return word != NULL && *word != '\0' ? word : NULL;
}

/* Returns the node of the host that is attached to the port, or FAB_NONE. */
static uint32_t host_on(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = fab_fabric_peer_node(f, port);
    bool is_host = node != FAB_NONE && !fab_fabric_node_is_switch(f, node) &&
                   !f->nodes[node].aggregation && fab_fabric_port_is_up(f, port);
    return is_host ? node : FAB_NONE;
}

/* Returns the last word of the NodeDescriptions of the leaf's hosts, if at least three quarters of
 * the hosts have it; otherwise NULL. Finds the word by the majority vote algorithm (Boyer and
 * Moore). */
static const char *word_of(const struct fab_fabric *f, uint32_t sw)
{
    const char *word = NULL;
    uint32_t votes = 0, hosts = 0, matching = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t node = host_on(f, fab_fabric_port_id(f, sw, (uint8_t)num));
            const char *theirs = node != FAB_NONE ? last_word(f->nodes[node].desc) : NULL;
            bool same = word != NULL && theirs != NULL && strcmp(word, theirs) == 0;
            if (node == FAB_NONE)
                continue;
            if (pass == 1) {
                hosts++;
                matching += same;
            } else if (votes == 0) {
                word = theirs;
                votes = 1;
            } else {
                votes += same ? 1u : -1u;
            }
        }
    }
    return matching * 4 >= hosts * 3 ? word : NULL;
}

/* Returns the index of the word in the sorted list words[count]. If the list does not contain the
 * word, sets *ret_found to false and returns the index at which to insert it. */
static uint32_t index_of(const char *const *words, uint32_t count, const char *word,
                         bool *ret_found)
{
    uint32_t i = 0;
    while (i < count && strcmp(words[i], word) < 0)
        i++;
    *ret_found = i < count && strcmp(words[i], word) == 0;
    return i;
}

uint32_t fab_route_tree_rails(const struct fab_fabric *f, const struct fab_order *o,
                              uint32_t *ret_rail)
{
    const char *words[RAILS];
    uint32_t count = 0;
    bool found;
    memset(ret_rail, 0, o->n * sizeof(*ret_rail));
    for (uint32_t sw = 0; sw < o->n; sw++) {
        const char *word = o->leaf[sw] ? word_of(f, sw) : NULL;
        if (!o->leaf[sw])
            continue;
        if (word == NULL)
            return 1;
        uint32_t at = index_of(words, count, word, &found);
        if (found)
            continue;
        if (count == RAILS)
            return 1;
        memmove(words + at + 1, words + at, (count - at) * sizeof(*words));
        words[at] = word;
        count++;
    }
    if (count < 2)
        return 1;
    for (uint32_t sw = 0; sw < o->n; sw++) {
        if (o->leaf[sw])
            ret_rail[sw] = index_of(words, count, word_of(f, sw), &found);
    }
    return count;
}
