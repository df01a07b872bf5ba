libfabmgr_libfabmgr_la_SOURCES += \
	%D%/order.c \
	%D%/order.h \
	%D%/spanning.c \
	%D%/spanning.h
