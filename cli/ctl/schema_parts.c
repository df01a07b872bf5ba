/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of the notation of outputs, and the parts that several commands have (schema.h). */
#include "cli/ctl/schema.h"

#include <stddef.h>

#define INTEGER(most) "{\"type\": \"integer\", \"minimum\": 0, \"maximum\": " most "}"
#define PATTERN(pattern) "{\"type\": \"string\", \"pattern\": \"" pattern "\"}"

const struct schema_name schema_types[] = {
    {"text", "{\"type\": \"string\"}"},
    {"bool", "{\"type\": \"boolean\"}"},
    {"null", "{\"type\": \"null\"}"},
    {"real", "{\"type\": \"number\"}"},
    {"amount", "{\"type\": \"number\", \"minimum\": 0}"},
    {"percent", "{\"type\": \"number\", \"minimum\": 0, \"maximum\": 100}"},
    {"permille", INTEGER("1000")},
    {"u8", INTEGER("255")},
    {"u16", INTEGER("65535")},
    {"u32", INTEGER("4294967295")},
    {"u64", INTEGER("18446744073709551615")},
    {"lane", INTEGER("15")},     /* a virtual lane or service level */
    {"status", INTEGER("5")},    /* an exit status */
    {"priority", INTEGER("15")}, /* priority of a subnet manager */
    {"guid", PATTERN("^(0x[0-9a-f]{16})?$")},
    {"hex16", PATTERN("^0x[0-9a-f]{4}$")}, /* a P_Key or MLID */
    {"time", PATTERN("^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\\\.[0-9]{6}Z)?$")},
    {NULL, NULL},
};

const struct schema_name schema_words[] = {
    {"port_state", "?|Down|Init|Armed|Active"},
    {"physical_state", "?|Sleep|Polling|Disabled|Training|LinkUp|Recovery|PhyTest"},
    {"node_type", "?|adapter|switch|router|aggregation"},
    {"severity", "?|debug|info|warning|error"},
    {"manager_role", "?|not active|discovering|standby|master"},
    {"drain_kind", "?|link|switch|rack|pod|host"},
    {"drain_state", "?|moving|draining|drained|ending"},
    {"yes_no", "yes|no"},
    {"key_state", "rotation under way|none|incomplete|complete"},
    {"cabling_kind", "absent|missing|swapped|wrong-port|wrong-host|wrong-rail|wrong-plane|extra|"
                     "wrong-width|wrong-speed"},
    {NULL, NULL},
};

#define QUALITY_NUMBERS                                                                            \
    "endports:u64 leaves:u64 channels:u64 pairs:u64 unreachable_pairs:u64 all_to_all_max:u64 "     \
    "all_to_all_bound:u64 all_to_all_max_min_endports:u64 unused_channels:u64 shift_max:u64 "      \
    "permutation_bound:u64 shift_worst:u64 shifts_tried:u64 shift_orders:u64 random_median:u64 "   \
    "random_max:u64 random_tried:u64 bisections_tried:u64 "
#define QUALITY_REALS                                                                              \
    "all_to_all_mean:amount all_to_all_sigma:amount max_over_mean:amount bisection_mean:amount "   \
    "bisection_min:amount all_to_all_squares:amount shift_mean:amount shift_bandwidth:amount "     \
    "orders_shift_max:amount orders_shift_mean:amount orders_shift_bandwidth:amount "              \
    "random_bandwidth:amount "

const struct schema_name schema_parts[] = {
    /* ports and links; if there is no port, the node is null */
    {"port", "node:text|null node_guid&:guid port&:u8"},
    {"rate", "width&:u8 speed&:text rate_mbps:u32|null"},
    {"rates", "supported:text enabled:text active:text"},
    {"link", "=port(a_) =port(b_)"},
    {"port_keys", "=port @Port(guid) lid:u16 lmc:u8 state:port_state physical_state:physical_state "
                  "=rate =rates @Port(degraded rate_reason excluded mtu) virtual_lanes:u8 "
                  "=port(peer_) =port(last_peer_) last_peer_seen:time"},
    {"gone_link", "=link =rate first_seen:time last_seen:time gone_since:time reason:text"},
    {"unhealthy",
     "=link state:'needed'|'isolated'|'watched'|'unhealthy'|'errors' "
     "@UnhealthyLink(unhealthy isolated in_routes by_operator counter) =port(at_) increase:u64 "
     "interval_s:u64 since:time isolated_since:time "
     "@UnhealthyLink(isolated_cause isolation_skipped error_windows error_windows_required "
     "errors_per_hour routed_lids uplinks_of uplinks_of_pod uplinks uplinks_in_use uplinks_least)"},
    /* nodes and hosts */
    {"place", "rack:text row:text slot:text"},
    {"node_place", "@Node(host rail) =place"},
    {"gone_node", "name:text type:node_type guid:guid ports:u32 first_seen:time last_seen:time "
                  "gone_since:time =port(own_) =port(at_) =rate reason:text"},
    /* the manager */
    {"fabric", "@FabricCounts(switches adapters links active_links degraded_links)"},
    {"packets", "smps_sent:u64 smps_retried:u64 smps_timed_out:u64 "
                "@PacketCounts(window in_flight)"},
    {"priorities", "@GetManagersResponse(priority own_priority configured_priority)"},
    /* counters */
    {"sample", "sent_bytes_per_second:u64|null received_bytes_per_second:u64|null "
               "sent_packets_per_second:u64|null received_packets_per_second:u64|null "
               "wait_ppm:u64|null peak_sent_bytes_per_second:u64|null "
               "peak_received_bytes_per_second:u64|null peak_wait_ppm:u64|null error_sum:u64 "
               "down_seconds:u64 errors:{ *:u64 } vl_wait_ppm:{ *:u64 }"},
    /* routes */
    {"proof", "proof_at:time|null proof_ms:amount|null proof_in_background:bool proof_due:bool "
              "background_proofs:u64 background_proof_failures:u64"},
    {"quality", QUALITY_NUMBERS QUALITY_REALS "shifts_every:bool"},
    {"contingency",
     "lost_endports:u32 @Contingency(blocks switches worst_load) kind:'link'|'switch' "
     "from_node?:text from_node_guid?:guid from_port?:u8 to_node?:text|null to_node_guid?:guid "
     "to_port?:u8 node?:text node_guid?:guid "
     "@Contingency(needs_engine lost_switches entries steps) =port(busiest_) "
     "@Contingency(plan_ready plan_bytes) estimated_ms:amount|null"},
    {"contingencies",
     "@ContingencySummary(cases computed plans running memory memory_allowed working_memory "
     "blocks_per_second rate_measured current_load current kept cpu_percent cpu_us waits_for)"},
    {"reroute", "generation:u64 @Reroute(blocks switches links_lost links_gained cause) time:time "
                "discovered_ms:amount|null computed_ms:amount|null verified_ms:amount|null "
                "first_write_ms:amount|null last_write_ms:amount|null paused_ms:amount|null "
                "@Reroute(engine entries failed nodes_lost nodes_gained paused_pairs)"},
    /* maintenance */
    {"drain", "@Drain(id) kind:drain_kind name:text state:drain_state since:time until:time "
              "@Drain(by reason force link_count used_link_count endport_count busy_port "
              "busy_bytes_per_second)"},
    {"begin_drain",
     "name:text nodes:[ name:text ] lost_endport_count?:u32 =quality?(before_) =quality?(after_) "
     "links:[ =link ] kept_links:[ =link ] hosts:[ name:text ] "
     "@GetDrainPreviewResponse(needed_switch_count refusal generation) job_hosts?:u32 "
     "drain?:{ =drain }"},
    /* policy, audit log, keys */
    {"policy_change", "path:text change:'added'|'removed'|'changed' before:text after:text"},
    {"apply", "base_version:u64 sections:text differences:u64 hash:text "
              "changes?:[ =policy_change ] warnings:[ text:text ] confirmations:[ text:text ] "
              "version&:u64 message&:text"},
    {"audit", "sequence:u64 time:time account:text source:text "
              "@AuditRecord(method object before after result message reason)"},
    {"key", "state:key_state origin:'generated'|'settings'|'derived'|'none' generation:u64 "
            "since:time current:u64 previous:u64 unknown:u64 absent:u64 behind?:text"},
    /* baseline, contexts, snapshots, cabling */
    {"baseline", "state:'present'|'absent'|'moved'|'new' name:text port:u8 guid:guid "
                 "=port(approved_at_) =port(now_at_) holder:text "
                 "effect:'admitted'|'quarantined'|'excluded'|'' approve_time:time found_time:time "
                 "approved_by:text @BaselineEntry(port_guid) type:'switch'|'endport'"},
    {"context", "name:text current:bool server:text tls_ca:text tls_cert:text tls_key:text "
                "tls_name:text file:text"},
    {"cabling_port", "node:text|null port:u8|null rack:text|null"},
    {"cabling_lists",
     "differences:[ kind:cabling_kind =cabling_port(a_) =cabling_port(b_) "
     "=cabling_port(planned_a_) "
     "=cabling_port(planned_b_) planned:text group:u32|null ] "
     "moves:[ job:u32 step:'swap'|'move'|'connect'|'remove' =cabling_port(a_) =cabling_port(b_) "
     "=cabling_port(other_) text:text group:u32|null ] "
     "exchanged_nodes:[ a:text b:text cables:u32 ]"},
    {NULL, NULL},
};
