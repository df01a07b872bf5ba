libfabmgr_libfabmgr_a_SOURCES += \
	%D%/aliases.c \
	%D%/aliases.h \
	%D%/class.c \
	%D%/context.c \
	%D%/context.h \
	%D%/kinds.c \
	%D%/kinds.h \
	%D%/path.c \
	%D%/query.c \
	%D%/rate.c \
	%D%/sa.h
