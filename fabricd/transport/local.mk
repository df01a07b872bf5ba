fabricd_libfabricd_la_SOURCES += %D%/transport.h %D%/transport.c %D%/ring.h %D%/ring.c %D%/umad.c %D%/sim.c
