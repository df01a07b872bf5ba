libfabmgr_libfabmgr_la_SOURCES += \
	%D%/differ.c \
	%D%/differ.h \
	%D%/lanes.c \
	%D%/lanes.h \
	%D%/mfts.c \
	%D%/mfts.h \
	%D%/observed.c \
	%D%/order.c \
	%D%/order.h \
	%D%/ordering.h \
	%D%/parts.c \
	%D%/pkeys.c \
	%D%/pkeys.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/stale.c \
	%D%/stale.h \
	%D%/wishes.c
