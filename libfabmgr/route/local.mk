libfabmgr_libfabmgr_la_SOURCES += \
	%D%/careful.c \
	%D%/engines.h \
	%D%/graph.c \
	%D%/graph.h \
	%D%/legal.c \
	%D%/legal.h \
	%D%/number.c \
	%D%/number.h \
	%D%/order.c \
	%D%/order.h \
	%D%/route.c \
	%D%/route.h \
	%D%/spread.c \
	%D%/spread.h \
	%D%/summit.c \
	%D%/updn.c
