libfabmgr_libfabmgr_a_SOURCES += \
	%D%/address.c \
	%D%/address.h \
	%D%/claims.c \
	%D%/claims.h
