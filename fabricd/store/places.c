/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabricd/store/places.h"

#include <stdlib.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"

#define PLACE_SIZE 9u

int places_pack(const struct event_place *places, uint32_t count, uint8_t **ret, size_t *ret_size)
{
    *ret = NULL;
    *ret_size = (size_t)count * PLACE_SIZE;
    if (count == 0)
        return FAB_OK;
    uint8_t *bytes = malloc(*ret_size);
    if (bytes == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        fab_base_put_be64(bytes + i * PLACE_SIZE, places[i].guid);
        bytes[i * PLACE_SIZE + 8] = places[i].port;
    }
    *ret = bytes;
    return FAB_OK;
}

int places_unpack(const uint8_t *bytes, size_t size, struct event_place **ret, uint32_t *ret_count)
{
    uint32_t count = (uint32_t)(size / PLACE_SIZE);
    *ret = NULL;
    *ret_count = 0;
    if (count == 0)
        return FAB_OK;
    struct event_place *places = calloc(count, sizeof *places);
    if (places == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        places[i] = (struct event_place){.guid = fab_base_get_be64(bytes + i * PLACE_SIZE),
                                         .port = bytes[i * PLACE_SIZE + 8]};
    *ret = places;
    *ret_count = count;
    return FAB_OK;
}
