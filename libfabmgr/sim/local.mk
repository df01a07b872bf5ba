libfabmgr_libfabmgr_la_SOURCES += \
	%D%/device.h \
	%D%/link.c \
	%D%/move.c \
	%D%/port_info.c \
	%D%/sim.c \
	%D%/sim.h \
	%D%/smp.c \
	%D%/tables.c \
	%D%/trap.c
