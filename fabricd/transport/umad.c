/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The umad transport: libibumad, for real adapters and, with a preload library, for ibsim.
 *
 * MADs are sent and received on the loop thread. The preload library returns descriptor numbers
 * that the kernel does not know, so epoll cannot watch them; a waiter (waiter.h) wakes the loop
 * instead. Each request is sent with a timeout: the kernel then remembers the request, and passes
 * on its answer. The kernel returns a request without an answer with status ETIMEDOUT, and the
 * transport passes it on as failed. The kernel overwrites the high 32 bits of the transaction ID.
 *
 * If too many MADs are in flight, the preload library and ibsim block each other. The library
 * blocks on a full socket while it holds a lock that its reading thread also needs. Then ibsim
 * blocks on the socket of the other direction. This happens at about 330 MADs in flight, because
 * the socket buffer of each direction holds 166. A repeated request also counts while its first
 * copy still waits in a socket. On a simulated port the transport therefore counts all sent
 * requests itself, and limits the number in flight so that neither side blocks.
 *
 * On a simulated port, a MAD of a class that is not registered crashes fabricd in the preload
 * library. The transport therefore also registers the classes that diagnostic tools use, and drops
 * their MADs.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/transport/thread_pinning.h"
#include "fabricd/transport/transport.h"
#include "fabricd/transport/waiter.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/sa.h"

/* maximum number of requests in flight on hardware: the default depth of a MAD send queue in the
 * kernel */
#define WINDOW_HARDWARE 128
/* maximum number of requests in flight on a simulated port, if Unix sockets of this system queue
 * fewer than 2 * WINDOW_SIM datagrams */
#define WINDOW_SIM_SMALL 64
/* maximum number of requests in flight on a simulated port, if Unix sockets of this system queue
 * enough datagrams; the socket buffer of each direction has room for 166 MADs */
#define WINDOW_SIM 160
/* Time in us. If the maximum number of requests is in flight on a simulated port, and no MAD has
 * arrived for this time, the transport assumes that all these requests are lost. */
#define SWALLOWED_US 10000000u
/* maximum number of incoming MADs that are passed to the receivers together */
#define BATCH 64
#define QP1_QKEY 0x80010000u
#define LONG_RETRIES 10
/* size in bytes of the memory for a umad header and a MAD */
#define UMAD_BYTES 512

/* The umad agents of the manager, one for each management class. Only the agents for SMPs and for
 * subnet administration also receive requests of other nodes. */
enum { AGENT_LID, AGENT_DIRECTED, AGENT_PERF, AGENT_CC, AGENT_VENDOR, AGENT_SA, AGENTS };
static const uint8_t agent_classes[AGENTS] = {
    [AGENT_LID] = FAB_CLASS_SMP_LID,   [AGENT_DIRECTED] = FAB_CLASS_SMP_DIRECTED,
    [AGENT_PERF] = FAB_CLASS_PERF,     [AGENT_CC] = FAB_CLASS_CC,
    [AGENT_VENDOR] = FAB_CLASS_VENDOR, [AGENT_SA] = FAB_CLASS_SA,
};

/* Classes of diagnostic tools, whose MADs are dropped on a simulated port. */
static const uint8_t classes_to_drop[] = {0x05, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x0c,
                                          0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x2c};
static const uint8_t vendor_classes_to_drop[] = {0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x41, 0x4f};
#define DROPPING (sizeof(classes_to_drop) + sizeof(vendor_classes_to_drop))

struct umad_transport {
    struct transport base;
    struct loop *loop;
    int port_id;
    int agent[AGENTS]; /* libibumad's agent id for each class */
    /* libibumad's ids of the agents whose MADs are dropped (register_to_drop) */
    int dropping[DROPPING];
    bool simulated;
    /* true: only answers to requests of this process are received (transport_umad_observe) */
    bool observes;
    char issm_path[256];
    int issm_fd;
    struct loop_watch *watch;
    /* waits for MADs; NULL unless the port is simulated */
    struct waiter *waiter;
    /* number of requests that were sent and not answered yet; counted on simulated ports only */
    uint32_t owed;
    /* Time in us since which the transport has been waiting for answers. This is the time at which
     * the last MAD arrived or, if it is later, at which a request was sent while no other request
     * was in flight. */
    uint64_t heard_us;
    /* name of the adapter and number of its port, needed to open the port again */
    char ca[UMAD_CA_NAME_LEN];
    int port_num;
    struct transport_mad batch[BATCH];
};

/* ---- sending --------------------------------------------------------------------------------- */

static int agent_for(const struct umad_transport *t, uint8_t mgmt_class)
{
    int i = AGENT_LID;
    while (i < AGENTS - 1 && agent_classes[i] != mgmt_class)
        i++;
    return t->agent[i];
}

static bool try_again(void)
{
    return errno == EAGAIN || errno == ENOMEM || errno == ENOBUFS;
}

/* Returns true if the error of a send means that the device is gone: the adapter was removed, or
 * the simulator ended and its socket refuses connections. */
static bool means_lost(int error)
{
    return error == ENODEV || error == ENXIO || error == ECONNREFUSED || error == ECONNRESET ||
           error == ENOTCONN || error == EPIPE;
}

/* Handles the error that umad_send left in errno. Returns BUSY if the caller must try again,
 * otherwise IO. */
static int send_failed(struct umad_transport *t)
{
    int error = errno;
    if (try_again())
        return FAB_E_BUSY;
    if (means_lost(error))
        transport_tell_lost(&t->base, strerror(error));
    return FAB_E_IO;
}

/* Returns true if the maximum number of requests is in flight on a simulated port. If no MAD has
 * arrived for SWALLOWED_US, assumes that all requests in flight are lost, and returns false. */
static bool is_full(struct umad_transport *t)
{
    if (!t->simulated || t->owed < t->base.window_max)
        return false;
    if (clock_now_us() - t->heard_us > SWALLOWED_US)
        t->owed = 0;
    return t->owed > 0;
}

static void note_sent(struct umad_transport *t, const struct transport_mad *mad)
{
    if (mad->addr.timeout_us == 0)
        return; /* a MAD without a timeout is no request, so no answer is due */
    if (t->owed++ == 0)
        t->heard_us = clock_now_us();
}

static void note_answer(struct umad_transport *t, const struct transport_mad *mad)
{
    /* bit of the method that marks a response (IBA 13.4.5) */
    const uint8_t response = 0x80;
    if (t->owed > 0 && (mad->failed || (mad->len > 3 && mad->bytes[3] & response)))
        t->owed--;
}

static int umad_transport_send(struct transport *base, const struct transport_mad *mad)
{
    struct umad_transport *t = (struct umad_transport *)base;
    bool answer_due = mad->addr.timeout_us != 0;
    if (t->port_id < 0)
        return FAB_E_IO; /* the device is gone */
    /* Only requests count towards the limit; answers to other nodes are always sent. */
    if (answer_due && is_full(t))
        return FAB_E_BUSY;
    _Alignas(16) uint8_t umad[UMAD_BYTES];
    memset(umad, 0, umad_size());
    memcpy(umad_get_mad(umad), mad->bytes, mad->len);
    uint32_t qkey = mad->qp ? QP1_QKEY : 0;
    umad_set_addr(umad, mad->addr.dlid, mad->qp ? (int)mad->addr.qpn : 0, mad->addr.sl, (int)qkey);
    int timeout_ms = (int)((mad->addr.timeout_us + 999) / 1000);
    if (umad_send(t->port_id, agent_for(t, mad->bytes[1]), umad, mad->len, timeout_ms, 0) == 0) {
        note_sent(t, mad);
        return FAB_OK;
    }
    return send_failed(t);
}

/* Passes a long answer to the kernel, which sends it in RMPP segments and repeats lost segments. */
static int umad_transport_send_long(struct transport *base, const struct fab_mad_addr *to,
                                    const uint8_t *bytes, size_t len)
{
    struct umad_transport *t = (struct umad_transport *)base;
    if (t->port_id < 0)
        return FAB_E_IO; /* the device is gone */
    void *umad = len <= INT_MAX ? calloc(1, umad_size() + len) : NULL;
    if (!umad)
        return FAB_E_NOMEM;
    memcpy(umad_get_mad(umad), bytes, len);
    umad_set_addr(umad, to->dlid, (int)to->qpn, to->sl, (int)QP1_QKEY);
    int sent = umad_send(t->port_id, agent_for(t, bytes[1]), umad, (int)len,
                         (int)(to->timeout_us / 1000), LONG_RETRIES);
    int r = sent == 0 ? FAB_OK : send_failed(t);
    free(umad);
    return r;
}

/* Opens or closes the issm device (/dev/infiniband/issm*). While the device is open, the kernel
 * sets IsSM in the port's CapabilityMask. */
static int umad_transport_set_is_sm(struct transport *base, bool is_sm)
{
    struct umad_transport *t = (struct umad_transport *)base;
    if (is_sm == (t->issm_fd >= 0))
        return FAB_OK;
    if (!is_sm) {
        close(t->issm_fd);
        t->issm_fd = -1;
        return FAB_OK;
    }
    if (t->port_id < 0)
        return FAB_E_IO; /* the device is gone */
    t->issm_fd = open(t->issm_path, O_NONBLOCK);
    return t->issm_fd >= 0 ? FAB_OK : errno == EACCES ? FAB_E_DENIED : FAB_E_IO;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static bool nothing_came(const struct umad_transport *t)
{
    return t->simulated || errno == ETIMEDOUT || errno == EAGAIN || errno == EINTR ||
           errno == ENOSPC;
}

/* Returns true if this is one of the agents in t->agent[]. MADs of all other agents
 * (register_to_drop) are dropped. */
static bool is_ours(const struct umad_transport *t, int agent)
{
    for (int i = 0; i < AGENTS; i++)
        if (t->agent[i] == agent)
            return true;
    return false;
}

/* Reads and drops a request that consists of several MADs, which the kernel has reassembled.
 * fabricd does not support such requests. */
static void drop_long(struct umad_transport *t, int len)
{
    void *umad = len > 0 ? calloc(1, umad_size() + (size_t)len) : NULL;
    if (umad)
        umad_recv(t->port_id, umad, &len, 0);
    free(umad);
}

/* Reads one MAD into *slot without waiting. Returns 1 if a MAD was read, 0 if none is waiting,
 * or -1 if the device failed. */
static int read_mad(struct umad_transport *t, struct transport_mad *slot)
{
    _Alignas(16) uint8_t umad[UMAD_BYTES];
    int len, agent;
    do {
        len = FAB_MAD_SIZE;
        agent = umad_recv(t->port_id, umad, &len, 0);
        if (agent < 0 && errno == ENOSPC && !t->simulated)
            drop_long(t, len);
    } while (agent >= 0 && !is_ours(t, agent));
    if (agent < 0)
        return nothing_came(t) ? 0 : -1;
    const ib_mad_addr_t *from = umad_get_mad_addr(umad);
    slot->addr = (struct fab_mad_addr){
        .slid = be16toh(from->lid), .sl = from->sl, .qpn = be32toh(from->qpn)};
    slot->qp = agent != t->agent[AGENT_LID] && agent != t->agent[AGENT_DIRECTED];
    slot->failed = umad_status(umad) != 0;
    slot->len = (uint16_t)(len < FAB_MAD_SIZE ? len : FAB_MAD_SIZE);
    memcpy(slot->bytes, umad_get_mad(umad), slot->len);
    note_answer(t, slot);
    return 1;
}

/* Passes at most one batch of waiting MADs to the receivers. The loop calls this function again
 * for the remaining MADs, after other work. */
static void on_readable(void *ctx)
{
    struct umad_transport *t = ctx;
    size_t count = 0;
    int got = 1;
    while (count < BATCH && (got = read_mad(t, &t->batch[count])) > 0)
        count++;
    int error = errno;
    if (count)
        t->heard_us = clock_now_us();
    transport_hand_up(&t->base, t->batch, count);
    if (got < 0) {
        loop_watch_free(t->watch);
        t->watch = NULL;
        transport_tell_lost(&t->base, strerror(error));
    } else if (t->simulated && got == 0) {
        waiter_rearm(t->waiter);
    }
}

static int start_reading(struct umad_transport *t)
{
    int fd = umad_get_fd(t->port_id);
    if (t->simulated) {
        t->waiter = waiter_new(t->port_id);
        if (!t->waiter)
            return FAB_E_NOMEM;
        fd = waiter_fd(t->waiter);
    } else if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK)) {
        return FAB_E_IO;
    }
    t->watch = loop_watch_read(t->loop, fd, on_readable, t);
    return t->watch ? FAB_OK : FAB_E_NOMEM;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Unregisters the agents of a simulated port, because ibsim's preload library would keep them, and
 * has room for only a few dozen. The kernel itself removes the agents of a closed port. */
static void unregister_all(struct umad_transport *t)
{
    for (int i = 0; t->simulated && i < AGENTS; i++)
        umad_unregister(t->port_id, t->agent[i]);
    for (size_t i = 0; t->simulated && i < DROPPING; i++)
        umad_unregister(t->port_id, t->dropping[i]);
}

static void close_device(struct umad_transport *t)
{
    loop_watch_free(t->watch);
    waiter_free(t->waiter);
    t->watch = NULL;
    t->waiter = NULL;
    umad_transport_set_is_sm(&t->base, false);
    if (t->port_id >= 0) {
        unregister_all(t);
        umad_close_port(t->port_id);
    }
    t->port_id = -1;
    t->owed = 0;
    umad_done();
}

static void umad_transport_close(struct transport *base)
{
    close_device((struct umad_transport *)base);
    free(base);
}

/* Returns the maximum number of datagrams in the queue of a Unix socket; 0: not known. The smaller
 * this number, the fewer MADs in flight are enough for ibsim and its preload library to block each
 * other. */
static unsigned datagram_queue_len(void)
{
    unsigned len = 0;
    FILE *f = fopen("/proc/sys/net/unix/max_dgram_qlen", "r");
    if (f && fscanf(f, "%u", &len) != 1)
        len = 0;
    if (f)
        fclose(f);
    return len;
}

static uint32_t window_for(const struct umad_transport *t)
{
    if (!t->simulated)
        return WINDOW_HARDWARE;
    return datagram_queue_len() >= 2 * WINDOW_SIM ? WINDOW_SIM : WINDOW_SIM_SMALL;
}

static void set_method(long mask[16 / sizeof(long)], unsigned method)
{
    const unsigned bits = 8 * sizeof(long);
    mask[method / bits] |= 1L << method % bits;
}

static void register_to_drop(struct umad_transport *t)
{
    long any[16 / sizeof(long)] = {0};
    /* OpenIB's OUI, which ibping and ibsysstat use */
    uint8_t oui[3] = {0x00, 0x14, 0x05};
    int *next = t->dropping;
    for (size_t i = 0; i < sizeof(classes_to_drop); i++)
        *next++ = umad_register(t->port_id, classes_to_drop[i], 1, 0, any);
    for (size_t i = 0; i < sizeof(vendor_classes_to_drop); i++)
        *next++ = umad_register_oui(t->port_id, vendor_classes_to_drop[i], 0, oui, any);
}

/* Registers an agent for requests of subnet administration, and lets the kernel divide long answers
 * into RMPP segments. */
static void register_sa(struct umad_transport *t)
{
    static const uint8_t methods[] = {FAB_METHOD_GET,       FAB_METHOD_SET,
                                      FAB_METHOD_GET_TABLE, FAB_METHOD_GET_TRACE_TABLE,
                                      FAB_METHOD_GET_MULTI, FAB_METHOD_DELETE};
    const int class_version = 2, rmpp_version = 1, sa = AGENT_SA;
    long mask[16 / sizeof(long)] = {0};
    for (size_t i = 0; i < sizeof(methods); i++)
        set_method(mask, methods[i]);
    t->agent[sa] = umad_register(t->port_id, FAB_CLASS_SA, class_version, rmpp_version,
                                 t->observes ? NULL : mask);
}

static int register_agents(struct umad_transport *t, char *why, size_t why_len)
{
    long mask[16 / sizeof(long)] = {0};
    set_method(mask, FAB_METHOD_GET);
    set_method(mask, FAB_METHOD_SET);
    set_method(mask, FAB_METHOD_TRAP);
    set_method(mask, FAB_METHOD_TRAP_REPRESS);
    const int directed = AGENT_DIRECTED, lid = AGENT_LID, perf = AGENT_PERF, cc = AGENT_CC;
    const int vendor = AGENT_VENDOR;
    long *methods = t->observes ? NULL : mask;
    t->agent[directed] = umad_register(t->port_id, agent_classes[directed], 1, 0, methods);
    t->agent[lid] = umad_register(t->port_id, agent_classes[lid], 1, 0, methods);
    t->agent[perf] = umad_register(t->port_id, agent_classes[perf], 1, 0, NULL);
    t->agent[cc] = umad_register(t->port_id, agent_classes[cc], 2, 0, NULL);
    t->agent[vendor] = umad_register(t->port_id, agent_classes[vendor], 1, 0, NULL);
    register_sa(t);
    if (t->agent[directed] < 0 || t->agent[lid] < 0 || t->agent[perf] < 0 || t->agent[cc] < 0 ||
        t->agent[vendor] < 0 || t->agent[AGENT_SA] < 0) {
        snprintf(why, why_len,
                 "%s: cannot register for subnet management; is another subnet manager running on "
                 "this port?",
                 t->base.name);
        return FAB_E_BUSY;
    }
    if (t->simulated)
        register_to_drop(t);
    return FAB_OK;
}

/* Parses "CA", "CA:PORT" or "". *ret_port is 0 if libibumad must choose the port. Returns OK, or
 * INVAL if `where` has another form. */
static int parse_where(const char *where, char ca[UMAD_CA_NAME_LEN], int *ret_port)
{
    *ret_port = 0;
    ca[0] = '\0';
    if (!where || !*where)
        return FAB_OK;
    const char *colon = strchr(where, ':');
    size_t len = colon ? (size_t)(colon - where) : strlen(where);
    if (!len || len >= UMAD_CA_NAME_LEN)
        return FAB_E_INVAL;
    memcpy(ca, where, len);
    ca[len] = '\0';
    if (!colon)
        return FAB_OK;
    char *end;
    long port = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end || port < 1 || port > 254)
        return FAB_E_INVAL;
    *ret_port = (int)port;
    return FAB_OK;
}

static int find_port(struct umad_transport *t, const char *where, umad_port_t *port, char *why,
                     size_t why_len)
{
    char ca[UMAD_CA_NAME_LEN];
    int num;
    if (parse_where(where, ca, &num)) {
        snprintf(why, why_len, "'%s' is not a port: expected CA or CA:PORT, as in mlx5_0:1", where);
        return FAB_E_INVAL;
    }
    umad_init();
    if (umad_get_port(*ca ? ca : NULL, num, port) < 0) {
        if (*ca)
            snprintf(why, why_len, "there is no InfiniBand port %s here (ibstat lists them)",
                     where);
        else
            snprintf(why, why_len,
                     "there is no InfiniBand port on this machine; fabricd --sim FILE runs on a "
                     "simulated fabric");
        return FAB_E_NOT_FOUND;
    }
    snprintf(t->base.name, sizeof(t->base.name), "%.40s:%d", port->ca_name, port->portnum);
    snprintf(t->ca, sizeof(t->ca), "%s", port->ca_name);
    t->port_num = port->portnum;
    t->base.port_guid = be64toh(port->port_guid);
    if (umad_get_issm_path(port->ca_name, port->portnum, t->issm_path, sizeof(t->issm_path)))
        t->issm_path[0] = '\0';
    return FAB_OK;
}

static int open_port(struct umad_transport *t, const umad_port_t *port, char *why, size_t why_len)
{
    t->port_id = umad_open_port(port->ca_name, port->portnum);
    if (t->port_id < 0) {
        bool denied = errno == EACCES || errno == EPERM;
        snprintf(why, why_len, "cannot open %s: %s%s", t->base.name, strerror(errno),
                 denied ? "; fabricd needs read and write access to /dev/infiniband/umad*" : "");
        return denied ? FAB_E_DENIED : FAB_E_IO;
    }
    /* A port of ibsim is recognised by its descriptor: the kernel does not know the number that the
     * preload library returns. */
    t->simulated = fcntl(umad_get_fd(t->port_id), F_GETFD) < 0;
    t->base.window_max = window_for(t);
    t->base.rmpp = t->simulated ? TRANSPORT_RMPP_NONE : TRANSPORT_RMPP_KERNEL;
    if (t->simulated)
        pin_threads();
    return FAB_OK;
}

static int open_device(struct umad_transport *t, const umad_port_t *port, char *why, size_t why_len)
{
    int err = open_port(t, port, why, why_len);
    if (!err)
        err = register_agents(t, why, why_len);
    if (err)
        return err;
    err = start_reading(t);
    if (err)
        snprintf(why, why_len, "%s: cannot start reading: %s", t->base.name,
                 fab_base_status_text(err));
    return err;
}

/* Opens the lost port again. Returns EXISTS if the port of this name now has another GUID: another
 * adapter must not replace the lost one, because the manager knows the fabric as seen from its own
 * port GUID. */
static int umad_transport_reopen(struct transport *base, char *why, size_t why_len)
{
    struct umad_transport *t = (struct umad_transport *)base;
    umad_port_t port = {0};
    close_device(t);
    umad_init();
    if (umad_get_port(t->ca, t->port_num, &port) < 0) {
        snprintf(why, why_len, "there is no port %s", base->name);
        return FAB_E_NOT_FOUND;
    }
    int err = FAB_E_EXISTS;
    if (be64toh(port.port_guid) == base->port_guid)
        err = open_device(t, &port, why, why_len);
    else
        snprintf(why, why_len, "%s is now another adapter", base->name);
    umad_release_port(&port);
    if (err)
        close_device(t);
    return err;
}

static const struct transport_ops umad_ops = {
    .send = umad_transport_send,
    .set_is_sm = umad_transport_set_is_sm,
    .close = umad_transport_close,
    .reopen = umad_transport_reopen,
    .send_long = umad_transport_send_long,
};

static int open_umad(struct loop *l, const char *where, bool observes, struct transport **ret,
                     char *why, size_t why_len)
{
    struct umad_transport *t = calloc(1, sizeof(*t));
    if (!t) {
        snprintf(why, why_len, "out of memory");
        return FAB_E_NOMEM;
    }
    *t = (struct umad_transport){
        .base.ops = &umad_ops, .loop = l, .port_id = -1, .issm_fd = -1, .observes = observes};
    umad_port_t port = {0};
    int err = find_port(t, where, &port, why, why_len);
    if (!err) {
        err = open_device(t, &port, why, why_len);
        umad_release_port(&port);
    }
    if (err)
        umad_transport_close(&t->base);
    else
        *ret = &t->base;
    return err;
}

int transport_umad_open(struct loop *l, const char *where, struct transport **ret, char *why,
                        size_t why_len)
{
    return open_umad(l, where, false, ret, why, why_len);
}

int transport_umad_observe(struct loop *l, const char *where, struct transport **ret, char *why,
                           size_t why_len)
{
    return open_umad(l, where, true, ret, why, why_len);
}
