fabricd_libfabricd_a_SOURCES += %D%/bus.c %D%/call_counts.h %D%/bus.h %D%/events.c %D%/events.h %D%/events.def %D%/clock.c %D%/clock.h %D%/log.c %D%/log.h %D%/process.c %D%/process.h %D%/report.c %D%/report.h \
	%D%/reroute.h %D%/thread.h %D%/tls_expiry.h
