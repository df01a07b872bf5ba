libfabmgr_libfabmgr_la_SOURCES += \
	%D%/attr.c \
	%D%/link.c \
	%D%/mad.c \
	%D%/notice.c \
	%D%/print.c \
	%D%/tables.c \
	%D%/wire.h
