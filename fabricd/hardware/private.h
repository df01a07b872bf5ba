/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of the hardware report. For this folder only. */
#ifndef FABRICD_HARDWARE_PRIVATE_H
#define FABRICD_HARDWARE_PRIVATE_H

#include "fabricd/agent/agent.h"
#include "fabricd/hardware/hardware.h"
#include "libfabmgr/wire/wire.h"

/* Maximum number of models in a report. The devices of further models are only counted. */
#define HARDWARE_MODELS 32

/* ---- probes.c: what is asked ----------------------------------------------------------------- */

enum hardware_devices { DEVICES_ALL, DEVICES_SWITCHES, DEVICES_VENDOR };
enum hardware_modifier {
    MODIFIER_NONE,
    /* AttributeModifier: the number of a port whose link is up; 0 if there is none. For
     * SLtoVLMappingTable, modifier_of (read.c) derives it from this number. */
    MODIFIER_PORT,
    /* AttributeModifier: the lower half of the VLArbitration table of the same port as
     * MODIFIER_PORT */
    MODIFIER_VLARB
};
struct hardware_probe {
    const char *name; /* name of the attribute, and of its class if this is not subnet management */
    const char *use;  /* what fabricd does with the answer */
    uint8_t mgmt_class;
    uint16_t attr_id;
    enum hardware_devices devices;
    enum hardware_modifier modifier;
    /* offset in bytes of the attribute after the common header of a GMP; 0: this is an SMP */
    uint16_t at;
    /* true: the second byte of the attribute is a port number (PortSelect) */
    bool port_select;
    const struct fab_attr *attr; /* layout of the attribute; NULL: the bytes are not interpreted */
};
#define HARDWARE_PROBES 18
extern const struct hardware_probe hardware_probes[HARDWARE_PROBES];
/* Returns true if the report needs the attribute of the probe from a device with this NodeInfo. */
bool hardware_applies(const struct hardware_probe *p, const struct fab_node_info *node);
/* Counts the bytes of the attribute in which the device has set bits that fabricd does not know.
 * Sets *ret_first to the offset of the first of these bytes. Returns 0 if fabricd knows all bits
 * that are set, if the report does not interpret the attribute (attr is NULL), if the answer is
 * shorter than the attribute, or if memory ran out. */
uint32_t hardware_unknown_bytes(const struct hardware_probe *p, const uint8_t *bytes, size_t len,
                                uint32_t *ret_first);

/* ---- read.c: the answers --------------------------------------------------------------------- */

struct hardware_result {
    uint32_t asked, answered, refused, silent;
    /* number of devices that got no request, because they or the manager's own port have no LID */
    uint32_t unsent;
    uint16_t status;     /* MAD status of the last refusal */
    uint64_t slowest_us; /* longest time from a request to its answer */
    /* The answer with the most bytes in which bits are set that fabricd does not know: the number
     * of these bytes, and the offset of the first of them. */
    uint32_t unknown, unknown_at;
};
struct hardware_model {
    struct fab_node_info info; /* NodeInfo of the first device of the model */
    uint32_t devices;
    uint32_t samples, sample[HARDWARE_SAMPLES]; /* ids of the nodes to which requests are sent */
    struct hardware_result results[HARDWARE_PROBES];
};
struct hardware {
    struct hardware_input in;
    /* [0] is for SMPs; each of the others is for one class of general services */
    struct agent *agents[4];
    struct fab_path *paths; /* [node_count] */
    uint32_t models, other_devices;
    struct hardware_model model[HARDWARE_MODELS];
    uint32_t waiting; /* number of requests that have not ended */
};

/* ---- untried.c: what was never tried on hardware --------------------------------------------- */

struct hardware_untried {
    const char *what; /* a function of fabricd */
    const char *try;  /* how an operator tries it with the least risk */
};
#define HARDWARE_UNTRIED 10
extern const struct hardware_untried hardware_untried[HARDWARE_UNTRIED];

#endif
