/* SPDX-License-Identifier: BSD-3-Clause */
/* The command fabsim check FILE. It reads a topology file as fabricd does, and prints how many
 * nodes and links it has. If the file has a mistake, it prints the line and column of the mistake
 * instead. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/sim/cmd.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/text.h"

struct counts {
    uint32_t hosts, aggregation, routers, isls, components;
    /* [n] number of switches that have n ports */
    uint32_t radix[256];
};

static void count_nodes(const struct fab_fabric *f, struct counts *c)
{
    for (uint32_t n = 0; n < f->node_count; n++) {
        const struct fab_node *node = &f->nodes[n];
        if (node->type == FAB_NODE_SWITCH)
            c->radix[node->num_ports]++;
        else if (node->type == FAB_NODE_ROUTER)
            c->routers++;
        else if (node->aggregation)
            c->aggregation++;
        else
            c->hosts++;
    }
}

/* Counts the ISLs. */
static void count_isls(const struct fab_fabric *f, struct counts *c)
{
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t peer = fab_fabric_port(f, p)->peer;
        c->isls += peer != FAB_NONE && peer > p &&
                   fab_fabric_node_is_switch(f, fab_fabric_port(f, p)->node) &&
                   fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node);
    }
}

/* Returns the node that represents the connected component of node n (union-find with path
 * compression). of[n] is n itself if n represents its component, otherwise another node of the
 * component. */
static uint32_t component_of(uint32_t *of, uint32_t n)
{
    while (of[n] != n) {
        of[n] = of[of[n]];
        n = of[n];
    }
    return n;
}

static int count_components(const struct fab_fabric *f, struct counts *c)
{
    uint32_t *of = calloc((size_t)f->node_count + 1, sizeof *of);
    if (of == NULL)
        return FAB_E_NOMEM;
    for (uint32_t n = 0; n < f->node_count; n++)
        of[n] = n;
    c->components = f->node_count;
    for (uint32_t p = 0; p < f->port_count; p++) {
        if (fab_fabric_port(f, p)->peer == FAB_NONE)
            continue;
        uint32_t x = component_of(of, fab_fabric_port(f, p)->node),
                 y = component_of(of, fab_fabric_peer_node(f, p));
        c->components -= x != y;
        of[x > y ? x : y] = x > y ? y : x;
    }
    free(of);
    return FAB_OK;
}

static void print(const struct fab_fabric *f, const struct counts *c)
{
    printf("switches          %" PRIu32 "\n", f->switch_count);
    for (unsigned r = 1; r < 256; r++)
        if (c->radix[r] > 0)
            printf("  %3u ports       %" PRIu32 "\n", r, c->radix[r]);
    printf("hosts             %" PRIu32 "\n", c->hosts);
    printf("aggregation nodes %" PRIu32 "\n", c->aggregation);
    printf("routers           %" PRIu32 "\n", c->routers);
    printf("links             %" PRIu32 "\n", f->link_count);
    printf("  between switches %" PRIu32 "\n", c->isls);
    printf("components        %" PRIu32 "\n", c->components);
}

static int report(const struct fab_builder *b)
{
    struct fab_fabric *f = NULL;
    struct counts c = {0};
    int status = fab_fabric_builder_seal(b, &f);
    if (status == FAB_OK)
        status = count_components(f, &c);
    if (status == FAB_OK) {
        count_nodes(f, &c);
        count_isls(f, &c);
        print(f, &c);
    }
    fab_fabric_unref(f);
    return status;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
    struct fab_text_error error;
    struct fab_builder *b = NULL;
    char *text = NULL;
    size_t len = 0;
    if (argc != 2 || (argv[1][0] == '-' && argv[1][1] != '\0'))
        return cmd_usage(cmd);
    if (file_read(argv[1], &text, &len) != 0)
        return CMD_FAILED;
    int status = fab_fabric_text_read(text, len, &b, &error);
    if (status == FAB_E_FORMAT)
        fprintf(stderr, "%s:%" PRIu32 ":%" PRIu32 ": %s\n", argv[1], error.line, error.column,
                error.message);
    else if (status == FAB_OK)
        status = report(b);
    if (status != FAB_OK && status != FAB_E_FORMAT)
        fprintf(stderr, "fabsim: %s: %s\n", argv[1], fab_base_status_text(status));
    fab_fabric_builder_free(b);
    free(text);
    return status == FAB_OK ? CMD_OK : CMD_FAILED;
}

const struct cmd cmd_check = {
    .name = "check",
    .usage = "FILE",
    .summary = "reads a topology and counts its nodes and cables; reports mistakes as "
               "FILE:LINE:COLUMN: message",
    .run = run,
};
