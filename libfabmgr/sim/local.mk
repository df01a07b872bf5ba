libfabmgr_libfabmgr_a_SOURCES += \
	%D%/congestion.c \
	%D%/counters.c \
	%D%/device.h \
	%D%/fault.h \
	%D%/gsi.c \
	%D%/inventory.c \
	%D%/items.c \
	%D%/link.c \
	%D%/forward.c \
	%D%/multicast.c \
	%D%/node.c \
	%D%/outbox.c \
	%D%/perf.c \
	%D%/port_info.c \
	%D%/queue.c \
	%D%/queue.h \
	%D%/rate.c \
	%D%/samples.c \
	%D%/sim.c \
	%D%/sim.h \
	%D%/smp.c \
	%D%/tables.c \
	%D%/traffic.c \
	%D%/time.c \
	%D%/trap.c
