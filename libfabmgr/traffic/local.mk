libfabmgr_libfabmgr_a_SOURCES += %D%/traffic.h %D%/model.h %D%/events.h %D%/events.c %D%/build.c \
	%D%/link.c %D%/forward.c %D%/adapter.c %D%/reaction.c %D%/arbitration.c %D%/cycle.c %D%/run.c %D%/consistency.c
