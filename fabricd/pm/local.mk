fabricd_libfabricd_la_SOURCES += %D%/pm.h %D%/private.h %D%/pm.c %D%/poll.c %D%/hot.c %D%/sick.c %D%/spare.c
