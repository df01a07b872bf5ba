/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes and parses page tokens. Finds the first node or port of a page from the page token.
 */
#include "fabricd/rpc/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/rpc/limits.h"
#include "libfabmgr/base/status.h"

#define TOKEN_LEN 64

static void write_token(const struct page_key *k, char text[TOKEN_LEN])
{
    int len =
        snprintf(text, TOKEN_LEN, "%c%d-%016" PRIx64 "-%u", k->list, k->behind, k->number, k->port);
    if (k->high != 0)
        snprintf(text + len, TOKEN_LEN - (size_t)len, "-%016" PRIx64, k->high);
}

int page_parse(char list, const char *token, struct page_key *ret, bool *ret_given)
{
    struct page_key k = {.list = list};
    char again[TOKEN_LEN], behind = '0';
    if (token[0] == '\0') {
        *ret_given = false;
        return FAB_OK;
    }
    if (strlen(token) >= TOKEN_LEN || token[0] != list ||
        sscanf(token + 1, "%c-%16" SCNx64 "-%9u-%16" SCNx64, &behind, &k.number, &k.port, &k.high) <
            3)
        return FAB_E_FORMAT;
    k.behind = behind == '1';
    write_token(&k, again);
    if (strcmp(again, token) != 0)
        return FAB_E_FORMAT;
    *ret = k;
    *ret_given = true;
    return FAB_OK;
}

char *page_token(struct answer *a, const struct page_key *key)
{
    char text[TOKEN_LEN];
    write_token(key, text);
    return answer_text(a, text);
}

uint32_t page_size(uint32_t asked)
{
    if (asked == 0)
        return RPC_PAGE_DEFAULT;
    return asked < RPC_PAGE_MAX ? asked : RPC_PAGE_MAX;
}

uint32_t page_node(const struct fab_fabric *f, const struct page_key *key, bool *ret_same)
{
    uint32_t low = key->behind ? f->switch_count : 0;
    uint32_t high = key->behind ? f->node_count : f->switch_count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (f->nodes[mid].guid < key->number)
            low = mid + 1;
        else
            high = mid;
    }
    uint32_t end = key->behind ? f->node_count : f->switch_count;
    *ret_same = low < end && f->nodes[low].guid == key->number;
    return low;
}

uint32_t page_port(const struct fab_fabric *f, const struct page_key *key)
{
    bool same;
    uint32_t node = page_node(f, key, &same);
    if (node == f->node_count)
        return f->port_count;
    const struct fab_node *n = &f->nodes[node];
    if (!same)
        return n->first_port;
    uint32_t skip = key->port < n->num_ports ? key->port : n->num_ports;
    return n->first_port + skip + 1;
}

struct page_key page_key_of_node(const struct fab_fabric *f, uint32_t node)
{
    return (struct page_key){
        .list = 'n', .behind = !fab_fabric_node_is_switch(f, node), .number = f->nodes[node].guid};
}

struct page_key page_key_of_port(const struct fab_fabric *f, uint32_t port, char list)
{
    struct page_key k = page_key_of_node(f, fab_fabric_port(f, port)->node);
    k.list = list;
    k.port = fab_fabric_port(f, port)->num;
    return k;
}
