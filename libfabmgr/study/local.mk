libfabmgr_libfabmgr_la_SOURCES += %D%/all_to_all.c %D%/measurement.c %D%/measurement.h %D%/permutations.c %D%/endport_order.c %D%/quality.c %D%/quality.h
