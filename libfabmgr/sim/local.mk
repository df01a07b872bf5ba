libfabmgr_libfabmgr_la_SOURCES += \
	%D%/device.h \
	%D%/fault.h \
	%D%/link.c \
	%D%/move.c \
	%D%/node.c \
	%D%/outbox.c \
	%D%/port_info.c \
	%D%/queue.c \
	%D%/queue.h \
	%D%/sim.c \
	%D%/sim.h \
	%D%/smp.c \
	%D%/tables.c \
	%D%/time.c \
	%D%/trap.c
