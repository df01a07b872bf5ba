fabricd_libfabricd_la_SOURCES += %D%/loop.c %D%/worker.c %D%/loop.h %D%/worker.h
