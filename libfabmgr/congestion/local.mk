libfabmgr_libfabmgr_la_SOURCES += \
	%D%/congestion.c \
	%D%/congestion.h \
	%D%/derive.c \
	%D%/derive.h \
	%D%/survey.c \
	%D%/survey.h \
	%D%/table.c
