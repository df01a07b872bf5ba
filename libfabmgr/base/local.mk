libfabmgr_libfabmgr_la_SOURCES += \
	%D%/arena.c \
	%D%/arena.h \
	%D%/bitset.c \
	%D%/bitset.h \
	%D%/bucket.h \
	%D%/buf.h \
	%D%/pool.h \
	%D%/digits.c \
	%D%/digits.h \
	%D%/map.c \
	%D%/map.h \
	%D%/match.c \
	%D%/match.h \
	%D%/plural.h \
	%D%/prng.c \
	%D%/prng.h \
	%D%/sets.c \
	%D%/sets.h \
	%D%/size.c \
	%D%/size.h \
	%D%/status.c \
	%D%/status.h \
	%D%/text.c \
	%D%/text.h \
	%D%/version.c \
	%D%/version.h
