/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for the decoded pages of a list. A page of 1,000 rows has tens of thousands of small
 * messages and texts; they are freed all at once, and the next page uses the same memory. (struct
 * fab_arena hands out no byte twice, so it would need new memory for each page.) */
#ifndef CLI_CTL_PAGE_MEMORY_H
#define CLI_CTL_PAGE_MEMORY_H

#include <protobuf-c/protobuf-c.h>

struct page_block;
struct page_memory {
    ProtobufCAllocator allocator;     /* for fab_client_call_in */
    struct page_block *first, *block; /* block: the block that is used at present */
    size_t used;                      /* number of bytes of `block` that are handed out */
};

void page_memory_init(struct page_memory *m);
/* Frees everything that the allocator has handed out. */
void page_memory_reset(struct page_memory *m);
void page_memory_fini(struct page_memory *m);

#endif
