# The shared library libfabmgr.so, for clients of the RPC: the client and the messages. Only configure --enable-shared
# builds and installs it, with its headers and its pkg-config file. The programs link the static libraries all the
# same. Whoever changes a public header so that programs must be compiled again, changes the soname (-version-info)
# and the version node in libfabmgr.map.

public_files = libfabmgr/base/version.h libfabmgr/client/client.h libfabmgr/grpc/code.h
LIBFABMGR_PROTOS = $(CONTRACT_PROTOS) proto/google/protobuf/descriptor.proto proto/google/protobuf/duration.proto \
	proto/google/protobuf/timestamp.proto

EXTRA_DIST += libfabmgr/libfabmgr.map libfabmgr/libfabmgr.pc.in
CLEANFILES += libfabmgr/libfabmgr.pc

libfabmgr/libfabmgr.pc: libfabmgr/libfabmgr.pc.in Makefile
	$(AM_V_GEN)$(MKDIR_P) libfabmgr && $(SED) -e 's|@prefix[@]|$(prefix)|g' -e 's|@libdir[@]|$(libdir)|g' \
	-e 's|@includedir[@]|$(includedir)|g' -e 's|@VERSION[@]|$(VERSION)|g' $< >$@.tmp && mv $@.tmp $@

if SHARED_LIBRARY
# The static libraries need no second set of objects.
AM_LIBTOOLFLAGS = --tag=disable-shared
lib_LTLIBRARIES = libfabmgr.la
libfabmgr_la_SOURCES = libfabmgr/base/digits.c libfabmgr/base/status.c libfabmgr/base/version.c \
	libfabmgr/client/client.c libfabmgr/client/socket.c \
	libfabmgr/grpc/code.c libfabmgr/grpc/reader.c libfabmgr/grpc/text.c
nodist_libfabmgr_la_SOURCES = $(LIBFABMGR_PROTOS:.proto=.pb-c.c)
libfabmgr_la_CFLAGS = $(FAB_BASE_CFLAGS) $(NGHTTP2_CFLAGS) $(PROTOBUFC_CFLAGS) $(OPENSSL_CFLAGS)
libfabmgr_la_LIBTOOLFLAGS = --tag=disable-static
libfabmgr_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined -Wl,-z,defs \
	-Wl,--version-script=$(srcdir)/libfabmgr/libfabmgr.map
libfabmgr_la_LIBADD = $(NGHTTP2_LIBS) $(PROTOBUFC_LIBS) $(OPENSSL_LIBS)
EXTRA_libfabmgr_la_DEPENDENCIES = libfabmgr/libfabmgr.map

# Headers keep their paths below fabmgr/, which the pkg-config file names.
publicdir = $(includedir)/fabmgr
nobase_public_HEADERS = $(public_files)
messagesdir = $(publicdir)
# C++ has a keyword export, which protoc-c takes as the name of a member for the call Export.
install-data-local:
	set -e; for header in $(LIBFABMGR_PROTOS:proto/%.proto=%.pb-c.h); do \
	$(MKDIR_P) $(DESTDIR)$(messagesdir)/$${header%/*}; \
	$(SED) 's/(\*export)(/(*export_)(/' proto/$$header >$(DESTDIR)$(messagesdir)/$$header; \
	chmod 644 $(DESTDIR)$(messagesdir)/$$header; done
uninstall-local:
	rm -rf $(DESTDIR)$(messagesdir)/fabric $(DESTDIR)$(messagesdir)/google
	-rmdir $(DESTDIR)$(messagesdir)/libfabmgr/* $(DESTDIR)$(messagesdir)/libfabmgr $(DESTDIR)$(messagesdir) 2>/dev/null
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = libfabmgr/libfabmgr.pc
endif
