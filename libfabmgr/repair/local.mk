libfabmgr_libfabmgr_la_SOURCES += \
	%D%/base.c \
	%D%/base.h \
	%D%/column.c \
	%D%/cover.c \
	%D%/cover.h \
	%D%/labels.c \
	%D%/order.c \
	%D%/prove.c \
	%D%/repair.c \
	%D%/repair.h \
	%D%/stand.c \
	%D%/stand.h \
	%D%/warm.c
