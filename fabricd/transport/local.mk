fabricd_libfabricd_la_SOURCES += %D%/transport.h %D%/transport.c %D%/waiter.h %D%/waiter.c %D%/umad.c %D%/sim.c
