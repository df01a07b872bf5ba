libfabmgr_libfabmgr_a_SOURCES += \
	%D%/incast.c \
	%D%/incast.h \
	%D%/partition.c \
	%D%/partition.h \
	%D%/key_index.c \
	%D%/key_index.h \
	%D%/port_selector.c \
	%D%/port_selector.h
