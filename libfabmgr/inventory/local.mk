libfabmgr_libfabmgr_a_SOURCES += \
	%D%/device.c \
	%D%/device.h \
	%D%/module.c \
	%D%/module.h \
	%D%/odd.c \
	%D%/odd.h \
	%D%/printable.c \
	%D%/printable.h
