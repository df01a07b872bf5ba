libfabmgr_libfabmgr_a_SOURCES += \
	%D%/inform.c \
	%D%/reports.c \
	%D%/reports.h \
	%D%/services.c \
	%D%/services.h \
	%D%/subscriptions.c \
	%D%/subscriptions.h
