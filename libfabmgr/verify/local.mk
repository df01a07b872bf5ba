libfabmgr_libfabmgr_a_SOURCES += \
	%D%/channels.c \
	%D%/channels.h \
	%D%/dependencies.c \
	%D%/dependencies.h \
	%D%/vl_walk.c \
	%D%/vl_walk.h \
	%D%/trace.h \
	%D%/device_limits.c \
	%D%/device_limits.h \
	%D%/switch_graph.c \
	%D%/switch_graph.h \
	%D%/batch_walk.c \
	%D%/steps.h \
	%D%/multicast.c \
	%D%/multicast.h \
	%D%/trace.c \
	%D%/verify.c \
	%D%/verify.h \
	%D%/walk.c \
	%D%/walk.h \
	%D%/witness.c
