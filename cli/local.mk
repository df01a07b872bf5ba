# The two programs for people: fabricctl talks to a fabricd, fabsim makes fabrics up.

bin_PROGRAMS += cli/fabricctl cli/fabsim

# Everything but main.c is in a convenience library, which the tests link too. In cli/ctl, since
# cli/fabricctl is the program.
noinst_LIBRARIES += cli/libctl.a
cli_libctl_a_SOURCES = \
	cli/ctl/accept.c \
	cli/ctl/anonymize.c \
	cli/ctl/anonymize.h \
	cli/ctl/anonymize_json.c \
	cli/ctl/anonymize_json.h \
	cli/ctl/anonymize_number.c \
	cli/ctl/anonymize_number.h \
	cli/ctl/anonymize_text.c \
	cli/ctl/anonymize_text.h \
	cli/ctl/bundle.c \
	cli/ctl/bundle.h \
	cli/ctl/plain_words.c \
	cli/ctl/plain_words.h \
	cli/ctl/pseudonyms.c \
	cli/ctl/pseudonyms.h \
	cli/ctl/cabling.c \
	cli/ctl/cabling.h \
	cli/ctl/check_watch.c \
	cli/ctl/check_watch.h \
	cli/ctl/cmd.c \
	cli/ctl/cmd.h \
	cli/ctl/cmd_audit.c \
	cli/ctl/authority.c \
	cli/ctl/authority.h \
	cli/ctl/authority_files.c \
	cli/ctl/authority_files.h \
	cli/ctl/authority_list.c \
	cli/ctl/signing.c \
	cli/ctl/signing.h \
	cli/ctl/cmd_backup.c \
	cli/ctl/cmd_restore.c \
	cli/ctl/cmd_support.c \
	cli/ctl/passphrase.c \
	cli/ctl/passphrase.h \
	cli/ctl/cmd_cc.c \
	cli/ctl/cmd_cert.c \
	cli/ctl/cmd_cc.h \
	cli/ctl/cmd_cc_export.c \
	cli/ctl/cmd_check.c \
	cli/ctl/cmd_congested.c \
	cli/ctl/cmd_contingency.c \
	cli/ctl/cmd_diagnostics.c \
	cli/ctl/cmd_event.c \
	cli/ctl/cmd_explain.c \
	cli/ctl/cmd_export.c \
	cli/ctl/cmd_gone.c \
	cli/ctl/cmd_ha.c \
	cli/ctl/cmd_host.c \
	cli/ctl/cmd_counters.c \
	cli/ctl/cmd_history.c \
	cli/ctl/port_samples.c \
	cli/ctl/port_samples.h \
	cli/ctl/sparkline.c \
	cli/ctl/sparkline.h \
	cli/ctl/cmd_export_opensm.c \
	cli/ctl/cmd_import.c \
	cli/ctl/import_files.c \
	cli/ctl/import_files.h \
	cli/ctl/cmd_infer.c \
	cli/ctl/cmd_topo_snapshot.c \
	cli/ctl/expand.c \
	cli/ctl/expand.h \
	cli/ctl/matched.c \
	cli/ctl/matched.h \
	cli/ctl/events.c \
	cli/ctl/events.h \
	cli/ctl/gone.h \
	cli/ctl/when.c \
	cli/ctl/when.h \
	cli/ctl/cmd_key.c \
	cli/ctl/cmd_link.c \
	cli/ctl/cmd_manager.c \
	cli/ctl/cmd_class.c \
	cli/ctl/cmd_multicast.c \
	cli/ctl/cmd_partition.c \
	cli/ctl/cmd_registry.c \
	cli/ctl/cmd_unhealthy.c \
	cli/ctl/cmd_inventory.c \
	cli/ctl/cmd_node.c \
	cli/ctl/cmd_baseline.c \
	cli/ctl/cmd_pins.c \
	cli/ctl/cmd_policy.c \
	cli/ctl/policy_files.c \
	cli/ctl/policy_files.h \
	cli/ctl/cmd_path.c \
	cli/ctl/cmd_port.c \
	cli/ctl/cmd_quality.c \
	cli/ctl/cmd_reroute.c \
	cli/ctl/cmd_route.c \
	cli/ctl/cmd_schema.c \
	cli/ctl/cmd_sim.c \
	cli/ctl/cmd_status.c \
	cli/ctl/cmd_sweep.c \
	cli/ctl/cmd_context.c \
	cli/ctl/contexts.c \
	cli/ctl/contexts.h \
	cli/ctl/contexts_read.c \
	cli/ctl/cmd_top.c \
	cli/ctl/top_data.c \
	cli/ctl/top_data.h \
	cli/ctl/top_view.c \
	cli/ctl/top_view.h \
	cli/ctl/frame.c \
	cli/ctl/frame.h \
	cli/ctl/schema.c \
	cli/ctl/schema.h \
	cli/ctl/schema_parts.c \
	cli/ctl/screen.c \
	cli/ctl/screen.h \
	cli/ctl/cmd_drain.c \
	cli/ctl/cmd_drain_list.c \
	cli/ctl/show_drain.c \
	cli/ctl/show_drain.h \
	cli/ctl/cmd_topo_isolate.c \
	cli/ctl/cmd_version.c \
	cli/ctl/cmd_whatif.c \
	cli/ctl/cmd_whoami.c \
	cli/ctl/commands.c \
	cli/ctl/commands.h \
	cli/ctl/complete.c \
	cli/ctl/complete.h \
	cli/ctl/excluded.c \
	cli/ctl/excluded.h \
	cli/ctl/help.c \
	cli/ctl/cmd_job.c \
	cli/ctl/job_file.c \
	cli/ctl/job_file.h \
	cli/ctl/job.c \
	cli/ctl/job.h \
	cli/ctl/list.c \
	cli/ctl/list.h \
	cli/ctl/page_memory.c \
	cli/ctl/page_memory.h \
	cli/ctl/options.c \
	cli/ctl/options.h \
	cli/ctl/output.c \
	cli/ctl/output.h \
	cli/ctl/output_format.h \
	cli/ctl/output_flat.c \
	cli/ctl/output_json.c \
	cli/ctl/output_many.c \
	cli/ctl/output_name.c \
	cli/ctl/output_none.c \
	cli/ctl/plot.c \
	cli/ctl/plot.h \
	cli/ctl/plot_congested.c \
	cli/ctl/plot_history.c \
	cli/ctl/plot_quality.c \
	cli/ctl/plot_samples.c \
	cli/ctl/output_select.c \
	cli/ctl/output_text.c \
	cli/ctl/output_yaml.c \
	cli/ctl/run.c \
	cli/ctl/run.h \
	cli/ctl/spelling.c \
	cli/ctl/spelling.h \
	cli/ctl/show.c \
	cli/ctl/show.h \
	cli/ctl/show_cabling.c \
	cli/ctl/show_cabling.h \
	cli/ctl/sink.c \
	cli/ctl/sink.h \
	cli/ctl/topo_watch.c \
	cli/ctl/topo_watch.h \
	cli/ctl/show_quality.c \
	cli/ctl/show_quality.h
nodist_cli_libctl_a_SOURCES = cli/ctl/vocabulary.c
cli_libctl_a_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(PROTOBUFC_CFLAGS) $(OPENSSL_CFLAGS)
cli_libctl_a_CPPFLAGS = $(AM_CPPFLAGS) -DSBINDIR='"$(sbindir)"' -DSYSCONFDIR='"$(sysconfdir)"'

# The words that a support bundle may show. The file keeps its time if the words are the same.
EXTRA_DIST += cli/ctl/make_vocabulary.sh cli/ctl/vocabulary.txt
CLEANFILES += cli/ctl/vocabulary.c cli/ctl/vocabulary.stamp
cli/ctl/vocabulary.c: cli/ctl/vocabulary.stamp
cli/ctl/vocabulary.stamp: cli/ctl/make_vocabulary.sh cli/ctl/vocabulary.txt fabricd/base/events.def $(fabricd_libfabricd_a_SOURCES) $(libfabmgr_libfabmgr_a_SOURCES)
	$(AM_V_GEN)$(MKDIR_P) cli/ctl && sh $(srcdir)/cli/ctl/make_vocabulary.sh $(srcdir) >cli/ctl/vocabulary.new && \
	{ cmp -s cli/ctl/vocabulary.new cli/ctl/vocabulary.c && rm cli/ctl/vocabulary.new || \
	mv cli/ctl/vocabulary.new cli/ctl/vocabulary.c; } && touch $@

cli_fabricctl_SOURCES = cli/ctl/main.c
cli_fabricctl_CFLAGS = $(AM_CFLAGS) $(PROTOBUFC_CFLAGS)
CTL_LIBS = cli/libctl.a libfabmgr/client/libfabclient.a proto/libfabproto.a libfabmgr/libfabmgr.a \
	$(YAML_LIBS) $(NGHTTP2_LIBS) $(PROTOBUFC_LIBS) $(OPENSSL_LIBS)
cli_fabricctl_LDADD = $(CTL_LIBS)

# In cli/sim, since cli/fabsim is the program. All but main.c for the tests too.
noinst_LIBRARIES += cli/libfabsim.a
cli_libfabsim_a_SOURCES = \
	cli/sim/cmd.h \
	cli/sim/cmd_check.c \
	cli/sim/cmd_ctl.c \
	cli/sim/cmd_generate.c \
	cli/sim/cmd_mads.c \
	cli/sim/cmd_serve.c \
	cli/sim/console.c \
	cli/sim/console.h \
	cli/sim/commands.c \
	cli/sim/commands.h \
	cli/sim/families.c \
	cli/sim/faults.c \
	cli/sim/faults.h \
	cli/sim/file.c \
	cli/sim/generate.h \
	cli/sim/hub.c \
	cli/sim/hub.h \
	cli/sim/options.c \
	cli/sim/place.c \
	cli/sim/place.h \
	cli/sim/ring.c \
	cli/sim/ring.h \
	cli/sim/server.c \
	cli/sim/server.h \
	cli/sim/socket.c \
	cli/sim/socket.h
cli_fabsim_SOURCES = cli/sim/main.c
cli_fabsim_LDADD = cli/libfabsim.a libfabmgr/libfabmgr.a

# Checks certificates of `fabricctl route certify`. In Python, so that it shares no code with fabricd.
dist_bin_SCRIPTS += cli/certificate/fabric-certificate-check
