/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hardware report (--hardware-report) shows how the devices of a fabric answer the requests of
 * fabricd. For this report, fabricd only reads from the devices. It groups the devices into models
 * (type, vendor, device and revision in NodeInfo), and asks up to HARDWARE_SAMPLES devices of each
 * model for each attribute that fabricd uses.
 */
#ifndef FABRICD_HARDWARE_HARDWARE_H
#define FABRICD_HARDWARE_HARDWARE_H

#include <stdbool.h>

#include "fabricd/loop/loop.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/fabric/fabric.h"

#define HARDWARE_SAMPLES 3

struct hardware;
struct hardware_input {
    struct loop *loop;
    struct transport *transport; /* should pass only Gets (transport_readonly_open) */
    const struct fab_fabric *fabric;
    uint64_t timeout_us; /* time-out of the first try of each request */
    uint32_t retries;    /* number of tries after the first one */
    /* called once, on the loop thread, when all requests have ended */
    void (*done)(void *ctx);
    void *ctx;
};
/* Sends the first requests to the devices. Replaces the receiver of SMPs at the transport. The
 * objects to which *in points must outlive the report. Returns INVAL if the fabric has no port of
 * the manager, LIMIT if the transport has too many receivers, or NOMEM. */
int hardware_start(const struct hardware_input *in, struct hardware **ret);
/* Prints the result to standard output, as text or as one JSON object. */
void hardware_print(const struct hardware *h, bool json);
void hardware_free(struct hardware *h); /* `h` may be NULL */

#endif
