/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emits an event when the manager's adapter or port is gone. Depending on the setting
 * on_device_lost, the manager then ends, or tries once a second to open the port again.
 */
#ifndef FABRICD_DEVICE_WATCH_H
#define FABRICD_DEVICE_WATCH_H

#include "fabricd/base/bus.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/sm/sm.h"
#include "fabricd/transport/transport.h"

struct device_watch_input {
    struct loop *loop;
    struct bus *bus;
    struct transport *transport;
    struct sm *sm;
    const struct config *config;
    void (*end)(void *ctx); /* called if the manager must end */
    void *ctx;
};
struct device_watch;
/* Starts to watch the device. Returns NOMEM. */
int device_watch_start(const struct device_watch_input *in, struct device_watch **ret);
void device_watch_stop(struct device_watch *w); /* `w` may be NULL */

#endif
