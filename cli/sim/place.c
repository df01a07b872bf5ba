/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds nodes and ports by name. A node description may be any text, also one like NODE/PORT. So
 * the functions first look for a node with the whole name. If there is none, the part after the
 * last slash is a port number. */
#include "cli/sim/place.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* length of a node's id in a topology file, such as S-0008f10400410015 */
#define ID_LEN 18

/* If the name is the id of a node in a topology file, such as S-0008f10400410015, returns its
 * hexadecimal digits. Otherwise returns NULL. */
static const char *digits_of_id(const char *name)
{
    if (strlen(name) != ID_LEN || strchr("SHR", name[0]) == NULL || name[1] != '-')
        return NULL;
    for (size_t i = 2; i < ID_LEN; i++)
        if (!isxdigit((unsigned char)name[i]))
            return NULL;
    return name + 2;
}

static int find_node(const struct fab_sim *sim, const char *name, uint32_t *ret)
{
    const char *digits = digits_of_id(name);
    if (digits != NULL && fab_sim_find(sim, digits, ret) == FAB_OK)
        return FAB_OK;
    return *name != '\0' ? fab_sim_find(sim, name, ret) : FAB_E_NOT_FOUND;
}

static int find_port(const struct fab_sim *sim, uint32_t node, const char *number,
                     const char *after, uint8_t *ret)
{
    char *end;
    unsigned long port = isdigit((unsigned char)*number) ? strtoul(number, &end, 10) : 0;
    if (port == 0 || strcmp(end, after) != 0)
        return FAB_E_NOT_FOUND;
    if (port > fab_sim_fabric(sim)->nodes[node].num_ports)
        return FAB_E_RANGE;
    *ret = (uint8_t)port;
    return FAB_OK;
}

/* Finds a node by the name `node` and, unless `number` is NULL, one of its ports. `number` points
 * to the digits of the port number; the text `after` must follow the digits. */
static int find_parts(const struct fab_sim *sim, const char *node, const char *number,
                      const char *after, struct place *ret)
{
    struct place place = {0};
    int status = find_node(sim, node, &place.node);
    if (status == FAB_OK && number != NULL)
        status = find_port(sim, place.node, number, after, &place.port);
    if (status == FAB_OK)
        *ret = place;
    return status;
}

/* Finds a node or port whose name is written as in ibsim's console: "NODE" or "NODE"[PORT].
 * `name` is the text after the opening quote. */
static int find_quoted(const struct fab_sim *sim, char *name, struct place *ret)
{
    char *quote = strrchr(name, '"');
    if (quote == NULL || (quote[1] != '\0' && quote[1] != '['))
        return FAB_E_NOT_FOUND;
    *quote = '\0';
    return find_parts(sim, name, quote[1] == '[' ? quote + 2 : NULL, "]", ret);
}

int place_find(const struct fab_sim *sim, const char *name, struct place *ret)
{
    char copy[PLACE_NAME_MAX];
    if (strlen(name) >= sizeof copy)
        return FAB_E_NOT_FOUND;
    strcpy(copy, name);
    if (copy[0] == '"')
        return find_quoted(sim, copy + 1, ret);
    if (find_parts(sim, copy, NULL, "", ret) == FAB_OK)
        return FAB_OK;
    char *slash = strrchr(copy, '/');
    if (slash == NULL)
        return FAB_E_NOT_FOUND;
    *slash = '\0';
    return find_parts(sim, copy, slash + 1, "", ret);
}
