libfabmgr_libfabmgr_la_SOURCES += \
	%D%/differ.c \
	%D%/differ.h \
	%D%/observed.c \
	%D%/plan.c \
	%D%/plan.h
