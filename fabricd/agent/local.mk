fabricd_libfabricd_la_SOURCES += %D%/agent.c %D%/agent.h
