libfabmgr_libfabmgr_la_SOURCES += \
	%D%/policy.c \
	%D%/policy.h \
	%D%/tables.c \
	%D%/tables.h
