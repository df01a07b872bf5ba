libfabmgr_libfabmgr_la_SOURCES +=
