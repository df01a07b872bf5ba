fabricd_libfabricd_la_SOURCES +=
