libfabmgr_libfabmgr_la_SOURCES += \
	%D%/careful.c \
	%D%/engines.h \
	%D%/fattree.c \
	%D%/fill.c \
	%D%/fill.h \
	%D%/graph.c \
	%D%/graph.h \
	%D%/lanes.c \
	%D%/lanes.h \
	%D%/legal.c \
	%D%/legal.h \
	%D%/number.c \
	%D%/number.h \
	%D%/order.c \
	%D%/order.h \
	%D%/rails.c \
	%D%/route.c \
	%D%/route.h \
	%D%/slots.c \
	%D%/spread.c \
	%D%/spread.h \
	%D%/summit.c \
	%D%/tree.c \
	%D%/tree.h \
	%D%/updn.c \
	%D%/vls.c
