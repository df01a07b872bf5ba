libfabmgr_libfabmgr_a_SOURCES += \
	%D%/axis.c \
	%D%/axis.h \
	%D%/bars.c \
	%D%/chart.c \
	%D%/chart.h \
	%D%/frame.c \
	%D%/frame.h \
	%D%/svg.c \
	%D%/svg.h \
	%D%/timeline.c
