fabricd_libfabricd_a_SOURCES += \
	%D%/alias.c \
	%D%/arrivals.c \
	%D%/inform.c \
	%D%/member.c \
	%D%/mft.c \
	%D%/private.h \
	%D%/quota.c \
	%D%/quota.h \
	%D%/registered.c \
	%D%/registered.h \
	%D%/registry.c \
	%D%/registry.h \
	%D%/reply.c \
	%D%/report.c \
	%D%/sa.c \
	%D%/sa.h \
	%D%/service.c \
	%D%/stats.c \
	%D%/table.c \
	%D%/transfer.c
