libfabmgr_client_libfabclient_a_SOURCES += %D%/client.c %D%/client.h %D%/socket.c %D%/socket.h
libfabmgr_client_libfabclient_a_CFLAGS = $(AM_CFLAGS) $(NGHTTP2_CFLAGS) $(PROTOBUFC_CFLAGS) $(OPENSSL_CFLAGS)
