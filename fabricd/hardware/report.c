/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the hardware report, as text or JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "fabricd/base/report.h"
#include "fabricd/hardware/private.h"
#include "libfabmgr/base/plural.h"

static const char *type_name(uint8_t type)
{
    return type == FAB_NODE_SWITCH ? "switch" : type == FAB_NODE_ROUTER ? "router" : "adapter";
}

/* Returns in a few words how the devices of a model answered the requests for an attribute. */
static const char *verdict(const struct hardware_result *r)
{
    if (r->asked == 0)
        return r->unsent > 0 ? "not asked" : "does not apply";
    if (r->answered == r->asked)
        return r->unknown > 0 ? "unknown bits" : "ok";
    return r->answered > 0 ? "some answer" : r->refused > 0 ? "refused" : "no answer";
}

/* Writes to ret[] the details of the answers that the verdict does not show; "": there are none. */
static void describe(const struct hardware_result *r, char *ret, size_t len)
{
    int at = 0;
    ret[0] = '\0';
    if (r->unsent > 0)
        at += snprintf(ret, len, "a LID is missing; ");
    if (r->refused > 0 && (size_t)at < len)
        at += snprintf(ret + at, len - (size_t)at, "%u refused it, MAD status 0x%04x; ", r->refused,
                       r->status);
    if (r->silent > 0 && (size_t)at < len)
        at += snprintf(ret + at, len - (size_t)at, "%u gave no answer; ", r->silent);
    if (r->unknown > 0 && (size_t)at < len)
        at += snprintf(ret + at, len - (size_t)at, "%u byte%s with unknown bits, first at %u; ",
                       r->unknown, fab_base_plural_s(r->unknown), r->unknown_at);
    if (at >= 2 && (size_t)at < len)
        ret[at - 2] = '\0';
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_port(const struct hardware *h)
{
    const struct fab_port *p = fab_fabric_port(h->in.fabric, h->in.fabric->self_port);
    struct utsname u;
    printf("Port:    %s, port GUID 0x%016" PRIx64 ", LID %u, %s, %ux %s\n", h->in.transport->name,
           p->guid, p->info.lid, fab_wire_port_state_name(p->info.port_state),
           fab_wire_link_width(&p->info), fab_wire_link_speed(&p->info));
    if (p->info.sm_lid != 0)
        printf("         the master subnet manager is at LID %u\n", p->info.sm_lid);
    if (p->info.lid == 0)
        printf("         the port has no LID, so only directed-route SMPs were sent\n");
    if (uname(&u) == 0)
        printf("Kernel:  %s %s\n", u.sysname, u.release);
}

static void print_result(const struct hardware_probe *p, const struct hardware_result *r)
{
    char more[128], time[32] = "";
    describe(r, more, sizeof(more));
    if (r->answered > 0)
        snprintf(time, sizeof(time), "%" PRIu64 ".%02" PRIu64 " ms", r->slowest_us / 1000,
                 r->slowest_us % 1000 / 10);
    printf("  %-31s %-14s %9s  %s%s%s%s\n", p->name, verdict(r), time, p->use, more[0] ? " (" : "",
           more, more[0] ? ")" : "");
}

static void print_model(const struct hardware *h, const struct hardware_model *m)
{
    char name[128] = "";
    if (m->samples > 0)
        report_node_name(h->in.fabric, m->sample[0], name, sizeof(name));
    printf("\n%s, vendor 0x%06x, device 0x%04x, revision 0x%x: %u device%s, for example %s\n",
           type_name(m->info.node_type), m->info.vendor_id, m->info.device_id, m->info.revision,
           m->devices, fab_base_plural_s(m->devices), name);
    printf("  %-31s %-14s %9s  %s\n", "ATTRIBUTE", "ANSWER", "SLOWEST", "USED FOR");
    for (uint32_t p = 0; p < HARDWARE_PROBES; p++)
        if (hardware_applies(&hardware_probes[p], &m->info))
            print_result(&hardware_probes[p], &m->results[p]);
}

static void print_text(const struct hardware *h)
{
    const struct fab_fabric *f = h->in.fabric;
    print_port(h);
    printf("Fabric:  %u switch%s, %u other node%s, %u link%s\n", f->switch_count,
           fab_base_plural_es(f->switch_count), f->node_count - f->switch_count,
           fab_base_plural_s(f->node_count - f->switch_count), f->link_count,
           fab_base_plural_s(f->link_count));
    for (uint32_t m = 0; m < h->models; m++)
        print_model(h, &h->model[m]);
    if (h->other_devices > 0)
        printf("\n%u device%s of further models, which were not asked\n", h->other_devices,
               fab_base_plural_s(h->other_devices));
    printf("\nNever tried on hardware, only on simulators:\n");
    for (uint32_t i = 0; i < HARDWARE_UNTRIED; i++)
        printf("  - %s:\n    %s\n", hardware_untried[i].what, hardware_untried[i].try);
    printf("\nNothing was written.\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_results(const struct hardware_model *m)
{
    const char *comma = "";
    for (uint32_t p = 0; p < HARDWARE_PROBES; p++) {
        const struct hardware_result *r = &m->results[p];
        if (!hardware_applies(&hardware_probes[p], &m->info))
            continue;
        printf("%s\n   {\"attribute\": ", comma);
        report_put_string(hardware_probes[p].name);
        printf(", \"answer\": \"%s\", \"asked\": %u, \"answered\": %u, \"refused\": %u, "
               "\"silent\": %u, \"status\": %u, \"slowest_us\": %" PRIu64
               ", \"unknown_bytes\": %u, \"first_unknown\": %u}",
               verdict(r), r->asked, r->answered, r->refused, r->silent, r->status, r->slowest_us,
               r->unknown, r->unknown_at);
        comma = ",";
    }
}

static void json_model(const struct hardware *h, const struct hardware_model *m)
{
    printf("{\"type\": \"%s\", \"vendor_id\": %u, \"device_id\": %u, \"revision\": %u, "
           "\"devices\": %u, \"example\": ",
           type_name(m->info.node_type), m->info.vendor_id, m->info.device_id, m->info.revision,
           m->devices);
    report_put_string(m->samples > 0 ? h->in.fabric->nodes[m->sample[0]].name : "");
    printf(",\n  \"attributes\": [");
    json_results(m);
    printf("]}");
}

static void print_json(const struct hardware *h)
{
    const struct fab_fabric *f = h->in.fabric;
    const struct fab_port *p = fab_fabric_port(f, f->self_port);
    printf("{\"port\": ");
    report_put_string(h->in.transport->name);
    printf(", \"port_guid\": \"0x%016" PRIx64
           "\", \"lid\": %u, \"sm_lid\": %u,\n \"switches\": %u, "
           "\"nodes\": %u, \"links\": %u, \"other_devices\": %u,\n \"models\": [",
           p->guid, p->info.lid, p->info.sm_lid, f->switch_count, f->node_count, f->link_count,
           h->other_devices);
    for (uint32_t m = 0; m < h->models; m++) {
        printf("%s\n  ", m > 0 ? "," : "");
        json_model(h, &h->model[m]);
    }
    printf("],\n \"untried\": [");
    for (uint32_t i = 0; i < HARDWARE_UNTRIED; i++) {
        printf("%s\n  {\"what\": ", i > 0 ? "," : "");
        report_put_string(hardware_untried[i].what);
        printf(", \"try\": ");
        report_put_string(hardware_untried[i].try);
        printf("}");
    }
    printf("]}\n");
}

void hardware_print(const struct hardware *h, bool json)
{
    (json ? print_json : print_text)(h);
}
