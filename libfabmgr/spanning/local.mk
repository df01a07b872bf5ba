libfabmgr_libfabmgr_a_SOURCES += \
	%D%/order.c \
	%D%/order.h \
	%D%/spanning.c \
	%D%/spanning.h
