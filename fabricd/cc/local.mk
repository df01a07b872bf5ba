fabricd_libfabricd_la_SOURCES += %D%/cc.h %D%/private.h %D%/attrs.c %D%/classes.c %D%/cc.c %D%/compute.c %D%/program.c
