libfabmgr_libfabmgr_la_SOURCES += \
	%D%/differ.c \
	%D%/differ.h \
	%D%/observed.c \
	%D%/order.c \
	%D%/order.h \
	%D%/plan.c \
	%D%/plan.h
