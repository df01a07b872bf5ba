fabricd_libfabricd_a_SOURCES += %D%/changes.c %D%/inventory.c %D%/inventory.h %D%/nodes.c %D%/private.h %D%/visit.c
