/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the clients of `fabsim serve` and its console. An input is a sequence of records: a byte
 * for the kind, a byte for the sender, a byte for the length, and this number of bytes of a control
 * datagram, a packet or a line. Datagrams are padded with zeros to their size, and control
 * datagrams get the correct magic number, unless flags of the record say otherwise.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/sim/console.h"
#include "cli/sim/hub.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/sim/sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PACKET, CONTROL, LINE, KINDS };
enum { MAGIC = 0x10, EXACT_LENGTH = 0x20, RIGHT_PID = 0x40 };

/* The owner of the hub in this test. The hub (cli/sim/hub.h) connects clients with the simulated
 * fabric, and calls functions of its owner. This owner accepts a limited number of packets, and
 * stores which clients are connected. */
struct owner {
    unsigned room;
    bool is_open[HUB_CLIENTS];
};

static bool do_open(void *context, unsigned client, uint32_t pid)
{
    struct owner *o = context;
    if (client >= HUB_CLIENTS || o->is_open[client] || pid == 0)
        abort();
    o->is_open[client] = pid % 7 != 0;
    return o->is_open[client];
}

static void do_close(void *context, unsigned client)
{
    struct owner *o = context;
    if (!o->is_open[client])
        abort();
    o->is_open[client] = false;
}

static bool do_deliver(void *context, unsigned client, const uint8_t packet[HUB_PACKET_SIZE])
{
    struct owner *o = context;
    if (!o->is_open[client] || packet[24] != 0 || packet[30] != 1)
        abort();
    return o->room > 0 && o->room-- > 0;
}

static struct fab_sim *new_sim(void)
{
    struct fab_random_spec spec = {.switches = 4, .degree = 3, .hosts_per_switch = 2, .seed = 4};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    struct fab_sim *s = NULL;
    if (fab_fabric_generate_random(&spec, &b) == 0 && fab_fabric_builder_seal(b, &f) == 0)
        (void)fab_sim_new(f, 1, &s);
    fab_fabric_unref(f);
    fab_fabric_builder_free(b);
    return s;
}

static void control(struct hub *h, uint8_t flags, uint8_t from, const uint8_t *bytes, size_t len)
{
    uint8_t datagram[256] = {0};
    uint32_t magic = 0xdeadbeef, pid = from;
    memcpy(datagram, bytes, len);
    if (flags & MAGIC)
        memcpy(datagram, &magic, sizeof magic);
    if (flags & RIGHT_PID)
        memcpy(datagram + 16, &pid, sizeof pid);
    (void)hub_control(h, pid, datagram, flags & EXACT_LENGTH ? len : HUB_CONTROL_SIZE);
}

static void packet(struct hub *h, uint8_t flags, uint8_t from, const uint8_t *bytes, size_t len)
{
    uint8_t whole[HUB_PACKET_SIZE] = {0};
    memcpy(whole, bytes, len);
    /* flag MAGIC: the packet has the version numbers of a valid MAD */
    if (flags & MAGIC)
        whole[32] = whole[34] = 1;
    hub_packet(h, from, whole, flags & EXACT_LENGTH ? len : sizeof whole);
}

static void line(struct console *c, const uint8_t *bytes, size_t len)
{
    struct fab_text out = {0};
    char text[256];
    memcpy(text, bytes, len);
    (void)console_run(c, text, len, &out);
    fab_base_text_fini(&out);
}

static void record(struct console *c, const uint8_t *data, size_t len)
{
    switch (data[0] % (KINDS + 1)) {
    case PACKET:
        packet(c->hub, data[0], data[1], data + 3, len);
        break;
    case CONTROL:
        control(c->hub, data[0], data[1], data + 3, len);
        break;
    case LINE:
        line(c, data + 3, len);
        break;
    default:
        hub_tick(c->hub, c->hub->now_ms + data[2] * 50u);
        if (data[0] & MAGIC)
            hub_detach(c->hub, data[1]);
    }
}

static void play(struct console *c, const uint8_t *data, size_t size)
{
    while (size >= 3) {
        size_t len = data[2] < size - 3 ? data[2] : size - 3;
        record(c, data, len);
        data += 3 + len;
        size -= 3 + len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_sim *s = new_sim();
    struct hub *h = malloc(sizeof *h);
    struct owner owner = {.room = 100};
    struct hub_owner calls = {
        .context = &owner, .open = do_open, .close = do_close, .deliver = do_deliver};
    if (s != NULL && h != NULL) {
        struct console c = {.hub = h, .name = "fuzz"};
        hub_init(h, s, 0, &calls);
        play(&c, data, size);
        for (unsigned id = 0; id < HUB_CLIENTS; id++)
            hub_detach(h, id);
        for (unsigned id = 0; id < HUB_CLIENTS; id++)
            if (owner.is_open[id])
                abort();
    }
    free(h);
    fab_sim_free(s);
    return 0;
}
