libfabmgr_libfabmgr_a_SOURCES += \
	%D%/compose.c \
	%D%/match.c \
	%D%/qos.h
