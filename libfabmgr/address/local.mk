libfabmgr_libfabmgr_la_SOURCES += \
	%D%/address.c \
	%D%/address.h \
	%D%/claims.c \
	%D%/claims.h
