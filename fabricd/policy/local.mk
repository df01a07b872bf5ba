fabricd_libfabricd_a_SOURCES += %D%/check.c %D%/decide.c %D%/policy.c %D%/policy.h %D%/state.h
