fabricd_libfabricd_a_SOURCES += %D%/pm.h %D%/private.h %D%/pm.c %D%/poll.c %D%/history.c %D%/reading.c %D%/congested.c %D%/unhealthy.c %D%/exempt.c %D%/drain.c
