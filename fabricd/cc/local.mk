fabricd_libfabricd_la_SOURCES += %D%/cc.h %D%/private.h %D%/advise.c %D%/attrs.c %D%/classes.c %D%/cc.c %D%/compute.c %D%/compute.h %D%/devices.c %D%/key.c %D%/key_info.c %D%/log.c %D%/program.c
