fabricd_libfabricd_a_SOURCES += %D%/transport.h %D%/transport.c %D%/waiter.h %D%/waiter.c %D%/thread_pinning.h %D%/thread_pinning.c %D%/umad.c %D%/sim.c \
	%D%/readonly.c %D%/record.c %D%/record.h %D%/replay.c %D%/replay.h %D%/tape.c %D%/tape.h
