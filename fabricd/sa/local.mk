fabricd_libfabricd_la_SOURCES += \
	%D%/private.h \
	%D%/reply.c \
	%D%/sa.c \
	%D%/sa.h \
	%D%/table.c \
	%D%/transfer.c
