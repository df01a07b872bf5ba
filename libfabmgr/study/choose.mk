libfabmgr_libfabmgr_la_SOURCES += %D%/choose_engine.c %D%/choose_engine.h
