libfabmgr_libfabmgr_la_SOURCES += \
	%D%/compose.c \
	%D%/match.c \
	%D%/qos.h
