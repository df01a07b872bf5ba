fabricd_libfabricd_a_SOURCES += %D%/hardware.h %D%/private.h %D%/probes.c %D%/read.c %D%/report.c %D%/untried.c
