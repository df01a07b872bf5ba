fabricd_libfabricd_a_SOURCES += %D%/agent.c %D%/agent.h
