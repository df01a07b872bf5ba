libfabmgr_libfabmgr_a_SOURCES += \
	%D%/attr.c \
	%D%/link.c \
	%D%/mad.c \
	%D%/notice.c \
	%D%/path.c \
	%D%/member.h \
	%D%/print.c \
	%D%/rec.c \
	%D%/sa.h \
	%D%/gs.h \
	%D%/table.h \
	%D%/tables.c \
	%D%/tables_gs.c \
	%D%/tables_perf.c \
	%D%/tables_sa.c \
	%D%/tables_vendor.c \
	%D%/vendor.h \
	%D%/wire.h
