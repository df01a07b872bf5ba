libfabmgr_libfabmgr_la_SOURCES += \
	%D%/channels.c \
	%D%/channels.h \
	%D%/flow.c \
	%D%/flow.h \
	%D%/follow.h \
	%D%/limits.c \
	%D%/limits.h \
	%D%/net.c \
	%D%/net.h \
	%D%/sheaf.c \
	%D%/trace.c \
	%D%/verify.c \
	%D%/verify.h \
	%D%/walk.c \
	%D%/walk.h \
	%D%/witness.c
