fabricd_libfabricd_la_SOURCES += %D%/sm.h %D%/private.h %D%/core/phase.h %D%/sm.c %D%/core/runner.c %D%/core/phase_task.c \
	%D%/mcast/multicast.c %D%/mcast/multicast_store.c %D%/mcast/mft_writes.c %D%/core/rounds.c %D%/model/model.c %D%/apply/partition.c %D%/model/paths.c %D%/model/names.c %D%/sweep/unresponsive.c %D%/apply/changes.c %D%/apply/guid_info.c %D%/ha/mastership.c %D%/fault/trap.c \
	%D%/links/flapping.c %D%/links/isolation.c %D%/sweep/light_sweep.c %D%/links/port_setting.c %D%/sweep/discovery.c %D%/sweep/background_sweep.c %D%/sweep/snapshot.c %D%/ha/election.c %D%/apply/read_tables.c %D%/apply/address.c \
	%D%/apply/route.c %D%/apply/classes.c %D%/fault/contingency.c %D%/fault/port_probe.c %D%/fault/local_repair.c %D%/apply/plan.c %D%/apply/program.c %D%/apply/lid_routed.c %D%/apply/readback.c %D%/apply/publish.c %D%/apply/reroutes.c \
	%D%/apply/rebalance.c
