libfabmgr_client_libfabclient_la_SOURCES += %D%/placeholder.c
libfabmgr_client_libfabclient_la_CFLAGS = $(AM_CFLAGS) $(NGHTTP2_CFLAGS) $(PROTOBUFC_CFLAGS) $(OPENSSL_CFLAGS)
