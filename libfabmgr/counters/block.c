/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/counters/block.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

_Static_assert(FAB_COLUMNS < 64, "a bitset of columns has 64 bits");

int fab_counters_block_init(struct fab_counters_block *b, uint32_t ports, uint32_t samples)
{
    if (ports > FAB_BLOCK_PORTS || samples > FAB_BLOCK_SAMPLES)
        return FAB_E_LIMIT;
    struct fab_counters_time *time = calloc(samples > 0 ? samples : 1, sizeof *time);
    if (time == NULL)
        return FAB_E_NOMEM;
    *b = (struct fab_counters_block){.ports = ports, .samples = samples, .time = time};
    return FAB_OK;
}

void fab_counters_block_fini(struct fab_counters_block *b)
{
    for (int c = 0; c < FAB_COLUMNS; c++)
        free(b->code[c]);
    free(b->time);
    *b = (struct fab_counters_block){0};
}

int fab_counters_block_set(struct fab_counters_block *b, unsigned column, uint32_t port,
                           uint32_t sample, uint16_t code)
{
    if (b->code[column] == NULL && code == 0)
        return FAB_OK;
    if (b->code[column] == NULL)
        b->code[column] = calloc((size_t)b->ports * b->samples, sizeof *b->code[column]);
    if (b->code[column] == NULL)
        return FAB_E_NOMEM;
    b->code[column][port * b->samples + sample] = code;
    return FAB_OK;
}

/* Copies the samples of the block `from` into the larger block `to`, after its first `at`
 * samples. */
static int copy(struct fab_counters_block *to, const struct fab_counters_block *from, uint32_t at)
{
    memcpy(to->time + at, from->time, from->samples * sizeof *from->time);
    for (unsigned c = 0; c < FAB_COLUMNS; c++) {
        if (from->code[c] == NULL)
            continue;
        if (to->code[c] == NULL)
            to->code[c] = calloc((size_t)to->ports * to->samples, sizeof *to->code[c]);
        if (to->code[c] == NULL)
            return FAB_E_NOMEM;
        for (uint32_t p = 0; p < from->ports; p++)
            memcpy(to->code[c] + p * to->samples + at, from->code[c] + p * from->samples,
                   from->samples * sizeof *to->code[c]);
    }
    return FAB_OK;
}

void fab_counters_block_cut(struct fab_counters_block *b, int64_t until)
{
    uint32_t left = b->samples;
    while (left > 0 && b->time[left - 1].end > until)
        left--;
    for (unsigned c = 0; c < FAB_COLUMNS; c++)
        for (uint32_t p = 1; b->code[c] != NULL && p < b->ports; p++)
            memmove(b->code[c] + p * left, b->code[c] + p * b->samples, left * sizeof *b->code[c]);
    b->samples = left;
}

int fab_counters_block_join(const struct fab_counters_block *from, size_t count,
                            struct fab_counters_block *ret)
{
    struct fab_counters_block b = {0};
    uint32_t ports = 0, samples = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        ports = from[i].ports > ports ? from[i].ports : ports;
        samples += from[i].samples;
        if (samples > FAB_BLOCK_SAMPLES)
            return FAB_E_LIMIT;
    }
    int status = fab_counters_block_init(&b, ports, samples);
    for (size_t i = 0; i < count && status == FAB_OK; i++) {
        status = copy(&b, &from[i], at);
        at += from[i].samples;
    }
    if (status == FAB_OK)
        *ret = b;
    else
        fab_counters_block_fini(&b);
    return status;
}
