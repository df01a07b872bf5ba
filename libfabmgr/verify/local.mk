libfabmgr_libfabmgr_la_SOURCES += \
	%D%/channels.c \
	%D%/channels.h \
	%D%/follow.h \
	%D%/net.c \
	%D%/net.h \
	%D%/sheaf.c \
	%D%/trace.c \
	%D%/verify.c \
	%D%/verify.h \
	%D%/walk.c \
	%D%/walk.h \
	%D%/witness.c
