fabricd_libfabricd_a_SOURCES += %D%/alerts.h %D%/private.h %D%/alerts.c %D%/body.c %D%/webhook.c
