fabricd_libfabricd_la_SOURCES += \
	%D%/alias.c \
	%D%/member.c \
	%D%/mft.c \
	%D%/private.h \
	%D%/registered.c \
	%D%/registered.h \
	%D%/reply.c \
	%D%/sa.c \
	%D%/sa.h \
	%D%/table.c \
	%D%/transfer.c
