fabricd_libfabricd_la_SOURCES += \
	%D%/access.c %D%/access.h %D%/answer.c %D%/answer.h %D%/audit.c %D%/audit.h %D%/call.h %D%/caller.c %D%/caller.h \
	%D%/conn.c %D%/conn.h %D%/convert.c %D%/convert_quality.c %D%/convert_status.c %D%/convert.h %D%/convert_congestion.h %D%/concern.c %D%/concern.h \
	%D%/expiry.c %D%/expiry.h %D%/follower.h %D%/health.h %D%/grpc.c %D%/grpc.h %D%/handshake.c %D%/handshake.h %D%/excluded.c %D%/excluded.h %D%/gone.c %D%/gone.h \
	%D%/h2.c %D%/h2.h %D%/hosts.c %D%/hosts.h %D%/journal.c %D%/journal.h %D%/limited.c %D%/limited.h %D%/limits.h %D%/listen.c %D%/listen.h \
	%D%/page.c %D%/page.h %D%/request.c %D%/request.h %D%/rpc.c %D%/rpc.h %D%/server.h \
	%D%/report.c %D%/report.h %D%/service_access.c %D%/service_audit.c %D%/service_backup.c %D%/service_baseline.c %D%/service_choice.c %D%/service_compare.c %D%/service_congestion.c %D%/service_contingency.c %D%/service_diagnostics.c %D%/service_event.c %D%/service_event_list.c %D%/service_export.c %D%/service_fabric.c %D%/service_gone.c %D%/service_health.c %D%/service_host.c %D%/service_congested.c %D%/service_counters.c %D%/service_key.c %D%/service_link.c \
	%D%/service_multicast.c %D%/service_node.c %D%/service_class.c %D%/service_partition.c %D%/service_pins.c %D%/service_port.c %D%/service_quality.c %D%/service_reflection.c %D%/service_registry.c %D%/service_reroute.c %D%/service_route.c \
	%D%/service_unhealthy.c %D%/service_ha.c %D%/service_sim.c %D%/service_status.c %D%/service_whatif.c %D%/study.c %D%/study.h %D%/tls.c %D%/tls.h %D%/turned_away.c %D%/turned_away.h %D%/service_topology.c
