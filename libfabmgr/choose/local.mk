libfabmgr_libfabmgr_la_SOURCES += %D%/choose.c %D%/choose.h
