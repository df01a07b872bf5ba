fabricd_libfabricd_la_SOURCES += %D%/sm.h %D%/private.h %D%/phase.h %D%/sm.c %D%/run.c %D%/apart.c \
	%D%/multicast.c %D%/multicast_store.c %D%/mfts.c %D%/rounds.c %D%/model.c %D%/partition.c %D%/paths.c %D%/names.c %D%/silent.c %D%/changes.c %D%/guids.c %D%/ha.c %D%/trap.c \
	%D%/flapping.c %D%/isolate.c %D%/light.c %D%/port.c %D%/discover.c %D%/survey.c %D%/take.c %D%/sminfo.c %D%/readback.c %D%/address.c \
	%D%/route.c %D%/classes.c %D%/ahead.c %D%/glance.c %D%/mend.c %D%/plan.c %D%/program.c %D%/by_lid.c %D%/recheck.c %D%/publish.c %D%/reroutes.c \
	%D%/rebalance.c
