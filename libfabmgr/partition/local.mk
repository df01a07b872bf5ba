libfabmgr_libfabmgr_la_SOURCES += \
	%D%/crowd.c \
	%D%/crowd.h \
	%D%/partition.c \
	%D%/partition.h \
	%D%/place.c \
	%D%/place.h \
	%D%/select.c \
	%D%/select.h
