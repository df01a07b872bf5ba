libfabmgr_libfabmgr_a_SOURCES += \
	%D%/arb.c \
	%D%/arb.h \
	%D%/blocks.c \
	%D%/blocks.h \
	%D%/choice.c \
	%D%/choice.h \
	%D%/lanes.c \
	%D%/pins.c \
	%D%/pins.h \
	%D%/pkeys.c \
	%D%/pkeys.h \
	%D%/port.c \
	%D%/selector.c \
	%D%/selector.h \
	%D%/target.c \
	%D%/target.h \
	%D%/vls.c \
	%D%/vls.h
