/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that OpenSM 3.3.23 documents in its template (opensm -c), with their defaults, in the
 * order of the template. Each row says what becomes of the option. */
#include <string.h>

#include "libfabmgr/opensm/convert.h"

/* Defines an option for which fabricd has no use; note: the reason. */
#define NONE(name, preset, note)                                                                   \
    {                                                                                              \
        name, preset, FAB_OPENSM_KIND_NONE, NULL, NULL, 0, 0, note, NULL                           \
    }
/* Defines an option for which fabricd needs no setting: fabricd behaves as OpenSM does with the
 * default of the option. If the option has another value, the operator must decide. */
#define KEPT(name, preset, note)                                                                   \
    {                                                                                              \
        name, preset, FAB_OPENSM_KIND_KEPT, NULL, NULL, 0, 0, note, NULL                           \
    }
/* Defines an option whose number becomes the value of a setting. The setting has the default `to`,
 * and accepts numbers from `least` to `most`. */
#define NUMBER(name, preset, setting, to, least, most)                                             \
    {                                                                                              \
        name, preset, FAB_OPENSM_KIND_NUMBER, setting, to, least, most, "", NULL                   \
    }
#define FLAG(name, preset, setting, to)                                                            \
    {                                                                                              \
        name, preset, FAB_OPENSM_KIND_FLAG, setting, to, 0, 0, "", NULL                            \
    }
#define RULE(name, preset, setting, rule)                                                          \
    {                                                                                              \
        name, preset, FAB_OPENSM_KIND_RULE, setting, NULL, 0, 0, "", fab_opensm_rule_##rule        \
    }

const struct fab_opensm_option fab_opensm_options[] = {
    RULE("guid", "0x0000000000000000", NULL, port),
    RULE("m_key", "0x0000000000000000", NULL, m_key),
    RULE("m_key_lease_period", "0", "subnet.m_key_lease", m_key_part),
    RULE("m_key_protection_level", "0", "subnet.m_key_protection", m_key_part),
    NONE("m_key_lookup", "TRUE",
         "fabricd tries the keys of guid2mkey (subnet.m_key_file) in any case."),
    RULE("sm_key", "0x0000000000000001", NULL, sm_key),
    RULE("sa_key", "0x0000000000000001", NULL, sa_key),
    RULE("subnet_prefix", "0xfe80000000000000", NULL, prefix),
    NUMBER("lmc", "0", "subnet.lmc", "0", 0, 7),
    RULE("lmc_esp0", "FALSE", NULL, lmc_esp0),
    KEPT("sm_sl", "0",
         "fabricd sends all its requests on SL 0. Decide whether the traffic of the manager needs "
         "a class of its own (qos.classes)."),
    NUMBER("packet_life_time", "0x12", "subnet.packet_life_time", "18", 0, 31),
    NUMBER("vl_stall_count", "0x07", "subnet.vl_stall_count", "7", 0, 7),
    NUMBER("leaf_vl_stall_count", "0x07", "subnet.leaf_vl_stall_count", "7", 0, 7),
    NUMBER("head_of_queue_lifetime", "0x12", "subnet.hoq_life", "18", 0, 31),
    NUMBER("leaf_head_of_queue_lifetime", "0x10", "subnet.leaf_hoq_life", "16", 0, 31),
    RULE("max_op_vls", "5", NULL, max_vls),
    KEPT("force_link_speed", "15",
         "fabricd leaves LinkSpeedEnabled of ports as it is. Decide whether to limit the speed at "
         "the devices, for example with ibportstate."),
    KEPT("force_link_speed_ext", "31",
         "fabricd leaves LinkSpeedExtEnabled of ports as it is. Decide whether to limit the speed "
         "at the devices, for example with ibportstate."),
    KEPT("force_link_width", "255",
         "fabricd leaves LinkWidthEnabled of ports as it is. Decide whether to limit the width at "
         "the devices, for example with ibportstate."),
    KEPT("fdr10", "1",
         "fabricd leaves FDR10 of ports as it is. Decide whether to set it at the devices."),
    NUMBER("subnet_timeout", "18", "subnet.subnet_timeout", "18", 0, 31),
    NUMBER("local_phy_errors_threshold", "0x08", "subnet.phy_errors", "8", 0, 15),
    NUMBER("overrun_errors_threshold", "0x08", "subnet.overrun_errors", "8", 0, 15),
    NONE("use_mfttop", "TRUE", "fabricd sets MulticastFDBTop to cover the whole table."),
    RULE("partition_config_file", "/etc/opensm/partitions.conf", NULL, file),
    RULE("no_partition_enforcement", "FALSE", NULL, no_enforce),
    RULE("part_enforce", "both", NULL, enforce),
    FLAG("allow_both_pkeys", "FALSE", "partitions.allow_both", "yes"),
    NONE("keep_pkey_indexes", "TRUE", "P_Keys of fabricd always keep their index."),
    KEPT("sm_assigned_guid", "0x00",
         "fabricd assigns no alias GUIDs by itself; hosts register theirs. Decide whether virtual "
         "machines depend on GUIDs that OpenSM made."),
    NUMBER("sweep_interval", "10", "sweep.light_interval", "10", 0, 86400),
    KEPT("reassign_lids", "FALSE",
         "fabricd keeps all LIDs. If LIDs are to change, remove guid2lid and the state directory, "
         "and clear the LIDs of the ports."),
    RULE("force_heavy_sweep", "FALSE", NULL, heavy),
    KEPT("sweep_on_trap", "TRUE",
         "fabricd always reacts to traps, with a local repair instead of a heavy sweep. Decide "
         "whether that suits you."),
    KEPT("port_profile_switch_nodes", "FALSE",
         "no engine of fabricd counts switches as subscriptions of links. Compare the balance with "
         "fabricctl route quality."),
    KEPT("port_prof_ignore_file", "(null)",
         "no engine of fabricd leaves ports out of the balance. Compare the balance with fabricctl "
         "route quality."),
    KEPT("hop_weights_file", "(null)",
         "no engine of fabricd takes weights of links. Decide whether slow links are the reason: "
         "fabricd finds them itself. Otherwise use routing.engine file."),
    KEPT("port_search_ordering_file", "(null)",
         "fabricd finds the dimensions of grids from the topology. Decide after fabricctl route "
         "explain whether the engine is the expected one."),
    RULE("routing_engine", "(null)", NULL, engine),
    NONE("avoid_throttled_links", "FALSE",
         "fattree and updn leave slow links out if the others can bear the load."),
    NONE("connect_roots", "FALSE",
         "in tables of fabricd, all switches reach one another; the verification checks it."),
    NONE("use_ucast_cache", "FALSE", "local repairs of fabricd change only the affected routes."),
    KEPT("lid_matrix_dump_file", "(null)",
         "fabricd computes distances itself. Decide whether routing.engine file with the LFTs is "
         "what you need."),
    RULE("lfts_file", "(null)", NULL, file),
    RULE("root_guid_file", "(null)", NULL, file),
    RULE("cn_guid_file", "(null)", NULL, file),
    RULE("io_guid_file", "(null)", NULL, file),
    NONE("quasi_ftree_indexing", "FALSE",
         "fattree numbers the switches of damaged and irregular trees itself."),
    NONE("max_reverse_hops", "0",
         "tables of fabricd connect all endports, wherever they are connected."),
    KEPT("ids_guid_file", "(null)",
         "fabricd orders switches by topology and GUID. Compare the routes with fabricctl route "
         "quality."),
    KEPT("guid_routing_order_file", "(null)",
         "fabricd chooses the order of destinations by topology. Compare the balance with "
         "fabricctl route quality."),
    NONE("do_mesh_analysis", "FALSE", "fabricd has no engine lash; it analyses grids itself."),
    NONE("lash_start_vl", "0", "fabricd has no engine lash."),
    NONE("nue_max_num_vls", "1", "nue takes as many VLs as it needs, up to subnet.max_vls."),
    NONE("nue_include_switches", "FALSE",
         "the verification of fabricd covers the paths of switches, too."),
    NONE(
        "port_shifting", "FALSE",
        "fabricd spreads the load with its own orders; compare them with fabricctl route quality."),
    NONE(
        "scatter_ports", "0",
        "fabricd spreads the load with its own orders; compare them with fabricctl route quality."),
    NONE("guid_routing_order_no_scatter", "FALSE", "fabricd does not scatter ports."),
    RULE("sa_db_file", "(null)", NULL, file),
    NONE("sa_db_dump", "FALSE", "the database of fabricd always has the registrations of hosts."),
    RULE("torus_config", "/etc/opensm/torus-2QoS.conf", NULL, file),
    NUMBER("sm_priority", "0", "subnet.sm_priority", "0", 0, 15),
    KEPT("ignore_other_sm", "FALSE",
         "fabricd always takes part in the election. List trusted managers in subnet.managers, and "
         "see offenders.refused_manager."),
    NONE("sminfo_polling_timeout", "10000",
         "a standby manager polls the master every 250 ms (subnet.standby_poll_ms)."),
    NONE("polling_retry_number", "4",
         "a standby manager takes over after four polls without an answer."),
    NONE("honor_guid2lid_file", "FALSE",
         "fabricd always keeps the LIDs of its database, and those that ports have."),
    NONE("max_wire_smps", "4",
         "fabricd adapts the number of SMPs in flight to the fabric; smp.window limits it."),
    NONE("max_wire_smps2", "4",
         "fabricd adapts the number of SMPs in flight to the fabric; smp.window limits it."),
    NONE("max_smps_timeout", "600000",
         "fabricd adapts the number of SMPs in flight to the fabric; smp.window limits it."),
    NUMBER("transaction_timeout", "200", "smp.timeout_ms", "200", 1, 60000),
    NUMBER("transaction_retries", "3", "smp.retries", "3", 0, 20),
    NONE("long_transaction_timeout", "500", "fabricd doubles the timeout with each retry."),
    NONE("max_msg_fifo_timeout", "10000",
         "quotas of fabricd limit the requests of each port (quotas.requests)."),
    NONE("single_thread", "FALSE",
         "fabricd has one thread for the loop, and workers for long computations."),
    NONE("daemon", "FALSE", "systemd runs fabricd in the background."),
    KEPT("sm_inactive", "FALSE",
         "fabricd becomes master or standby at once. Do not start it before it may do so."),
    KEPT("babbling_port_policy", "FALSE",
         "fabricd limits the traps of a port, but disables no port because of them. Decide whether "
         "counters.on_errors should isolate or disable unhealthy links."),
    NONE("drop_event_subscriptions", "FALSE",
         "subscriptions end five minutes after the port has left the fabric."),
    KEPT("ipoib_mcgroup_creation_validation", "TRUE",
         "fabricd has its own checks of new groups. Test whether the hosts can create theirs."),
    KEPT("mcgroup_join_validation", "TRUE",
         "fabricd always checks joins. Test whether the hosts can join their groups."),
    KEPT("use_original_extended_sa_rates_only", "FALSE",
         "fabricd reports all rates. Decide whether hosts with old drivers remain."),
    NONE("use_optimized_slvl", "FALSE", "fabricd writes only the SL-to-VL tables that differ."),
    NONE("fsync_high_avail_files", "TRUE", "the database of fabricd survives a crash."),
    NONE("perfmgr", "FALSE", "fabricd always reads the counters of all ports (counters.interval)."),
    NONE("perfmgr_redir", "TRUE", "fabricd follows no redirection of performance management."),
    RULE("perfmgr_sweep_time_s", "180", NULL, perfmgr_time),
    NONE("perfmgr_max_outstanding_queries", "500",
         "fabricd spreads the readings over the interval."),
    NONE("perfmgr_ignore_cas", "FALSE", "fabricd reads the counters of switches and of adapters."),
    NONE("perfmgr_rm_nodes", "TRUE",
         "nodes that are gone stay known for a limited time (gone.max_age)."),
    NONE("perfmgr_log_errors", "TRUE", "fabricd emits events about unhealthy links."),
    NONE("perfmgr_query_cpi", "TRUE", "fabricd uses 64-bit counters where devices have them."),
    NONE("perfmgr_xmit_wait_log", "FALSE",
         "fabricctl port top and port history show PortXmitWait."),
    NONE("perfmgr_xmit_wait_threshold", "65535",
         "fabricctl port top and port history show PortXmitWait."),
    KEPT("event_db_dump_file", "(null)",
         "fabricd keeps counters in its database. Decide whether programs read this file; "
         "fabricctl port history -o json has the data."),
    KEPT("event_plugin_name", "(null)",
         "fabricd has no plug-ins. Decide what replaces it: fabricctl event watch -o json, the "
         "RPC, or the metrics."),
    KEPT("event_plugin_options", "(null)", "fabricd has no plug-ins."),
    RULE("node_name_map_name", "(null)", NULL, file),
    RULE("log_flags", "0x03", NULL, log),
    NONE("force_log_flush", "FALSE",
         "fabricd logs to standard error, and the journal of systemd keeps it."),
    NONE("log_file", "/var/log/opensm.log",
         "fabricd logs to standard error, and the journal of systemd keeps it."),
    NONE("log_max_size", "0", "the journal of systemd has its own limits."),
    NONE("accum_log_file", "TRUE", "the journal of systemd keeps earlier logs."),
    NONE("per_module_logging_file", "/etc/opensm/per-module-logging.conf",
         "fabricd has one log level (log_level)."),
    NONE("dump_files_dir", "/var/log/",
         "fabricctl route export and topo export write the files of OpenSM."),
    KEPT("enable_quirks", "FALSE", "fabricd has no such switch. Decide which device needed it."),
    KEPT("no_clients_rereg", "FALSE",
         "fabricd asks hosts to register again if it does not have their registrations. Decide "
         "whether hosts can bear that."),
    KEPT("disable_multicast", "FALSE", "fabricd always manages multicast."),
    NONE("exit_on_fatal", "TRUE",
         "fabricd reports duplicate GUIDs and LIDs as events, and continues."),
    NONE("console", "off", "fabricctl replaces the console."),
    NONE("console_port", "10000", "fabricctl replaces the console."),
    RULE("qos", "FALSE", NULL, qos),
    RULE("qos_policy_file", "/etc/opensm/qos-policy.conf", NULL, file),
    NONE("suppress_sl2vl_mad_status_errors", "FALSE", "fabricd tells each failed write once."),
    RULE("qos_max_vls", "0", NULL, qos),
    RULE("qos_high_limit", "-1", NULL, qos),
    RULE("qos_vlarb_high", "(null)", NULL, qos),
    RULE("qos_vlarb_low", "(null)", NULL, qos),
    RULE("qos_sl2vl", "(null)", NULL, qos),
    RULE("qos_ca_max_vls", "0", NULL, qos),
    RULE("qos_ca_high_limit", "-1", NULL, qos),
    RULE("qos_ca_vlarb_high", "(null)", NULL, qos),
    RULE("qos_ca_vlarb_low", "(null)", NULL, qos),
    RULE("qos_ca_sl2vl", "(null)", NULL, qos),
    RULE("qos_sw0_max_vls", "0", NULL, qos),
    RULE("qos_sw0_high_limit", "-1", NULL, qos),
    RULE("qos_sw0_vlarb_high", "(null)", NULL, qos),
    RULE("qos_sw0_vlarb_low", "(null)", NULL, qos),
    RULE("qos_sw0_sl2vl", "(null)", NULL, qos),
    RULE("qos_swe_max_vls", "0", NULL, qos),
    RULE("qos_swe_high_limit", "-1", NULL, qos),
    RULE("qos_swe_vlarb_high", "(null)", NULL, qos),
    RULE("qos_swe_vlarb_low", "(null)", NULL, qos),
    RULE("qos_swe_sl2vl", "(null)", NULL, qos),
    RULE("qos_rtr_max_vls", "0", NULL, qos),
    RULE("qos_rtr_high_limit", "-1", NULL, qos),
    RULE("qos_rtr_vlarb_high", "(null)", NULL, qos),
    RULE("qos_rtr_vlarb_low", "(null)", NULL, qos),
    RULE("qos_rtr_sl2vl", "(null)", NULL, qos),
    RULE("congestion_control", "FALSE", "congestion.apply", cc),
    RULE("cc_key", "0x0000000000000000", NULL, cc_key),
    NONE("cc_max_outstanding_mads", "500", "fabricd has its own limit of requests in flight."),
    RULE("cc_sw_cong_setting_control_map", "0x0", NULL, cc),
    RULE("cc_sw_cong_setting_victim_mask",
         "0x0000000000000000000000000000000000000000000000000000000000000000",
         "congestion.victim_mask", cc),
    RULE("cc_sw_cong_setting_credit_mask",
         "0x0000000000000000000000000000000000000000000000000000000000000000", NULL, cc),
    RULE("cc_sw_cong_setting_threshold", "0x00", "congestion.threshold", cc),
    RULE("cc_sw_cong_setting_packet_size", "0", "congestion.packet_size", cc),
    RULE("cc_sw_cong_setting_credit_starvation_threshold", "0x00", NULL, cc),
    RULE("cc_sw_cong_setting_credit_starvation_return_delay", "0:0", NULL, cc),
    RULE("cc_sw_cong_setting_marking_rate", "0", "congestion.marking_rate", cc),
    RULE("cc_ca_cong_setting_port_control", "0x0000", NULL, cc),
    RULE("cc_ca_cong_setting_control_map", "0x0000", NULL, cc),
    RULE("cc_ca_cong_setting_ccti_timer", "0 0", "congestion.timer", cc),
    RULE("cc_ca_cong_setting_ccti_increase", "0 0", "congestion.increase", cc),
    RULE("cc_ca_cong_setting_trigger_threshold", "0 0", "congestion.trigger_threshold", cc),
    RULE("cc_ca_cong_setting_ccti_min", "0 0", "congestion.min", cc),
    RULE("cc_cct", "(null)", "congestion.table", cc),
    RULE("prefix_routes_file", "/etc/opensm/prefix-routes.conf", NULL, file),
    FLAG("consolidate_ipv6_snm_req", "FALSE", "multicast.share", "always"),
    NONE("log_prefix", "(null)", "the log lines of fabricd have no prefix of their own."),
};
const size_t fab_opensm_option_count = sizeof fab_opensm_options / sizeof *fab_opensm_options;

const struct fab_opensm_option *fab_opensm_option_find(const char *name)
{
    for (size_t i = 0; i < fab_opensm_option_count; i++)
        if (strcmp(fab_opensm_options[i].name, name) == 0)
            return &fab_opensm_options[i];
    return NULL;
}
