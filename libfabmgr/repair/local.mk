libfabmgr_libfabmgr_la_SOURCES += \
	%D%/base.c \
	%D%/base.h \
	%D%/column.c \
	%D%/contingency.c \
	%D%/contingency.h \
	%D%/cover.c \
	%D%/cover.h \
	%D%/gather.c \
	%D%/labels.c \
	%D%/lift.c \
	%D%/load.c \
	%D%/order.c \
	%D%/pack.c \
	%D%/prove.c \
	%D%/raise.c \
	%D%/repair.c \
	%D%/repair.h \
	%D%/squeeze.c \
	%D%/stand.c \
	%D%/stand.h \
	%D%/warm.c
