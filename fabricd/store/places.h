/* SPDX-License-Identifier: BSD-3-Clause */
/* The places of a summary event, as the column event.places stores them: for each place the 8 bytes
 * of the GUID, big-endian, and a byte with the port. For this folder only. */
#ifndef FABRICD_STORE_PLACES_H
#define FABRICD_STORE_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "fabricd/base/bus.h"

/* Makes *ret the *ret_size bytes of the column, which the caller frees; NULL if there are no
 * places. Returns OK or NOMEM. */
int places_pack(const struct event_place *places, uint32_t count, uint8_t **ret, size_t *ret_size);
/* Makes *ret the places in the `size` bytes of the column, which the caller frees; NULL if there
 * are none. Ignores an incomplete place at the end. Returns OK or NOMEM. */
int places_unpack(const uint8_t *bytes, size_t size, struct event_place **ret, uint32_t *ret_count);

#endif
