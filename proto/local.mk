# The public contract. List a new .proto file here; C is generated from it into the build tree.

FABRIC_PROTOS = \
	proto/fabric/v1/placeholder.proto

EXTRA_DIST += $(FABRIC_PROTOS)

noinst_LTLIBRARIES += proto/libfabproto.la
nodist_proto_libfabproto_la_SOURCES = $(FABRIC_PROTOS:.proto=.pb-c.c) $(FABRIC_PROTOS:.proto=.pb-c.h)
# Generated: not ours to keep free of warnings.
proto_libfabproto_la_CFLAGS = $(FAB_BASE_CFLAGS) $(PROTOBUFC_CFLAGS)

BUILT_SOURCES += $(FABRIC_PROTOS:.proto=.pb-c.h)
CLEANFILES += $(FABRIC_PROTOS:.proto=.pb-c.c) $(FABRIC_PROTOS:.proto=.pb-c.h)

# A pattern rule with two targets: GNU make runs it once for both.
%.pb-c.c %.pb-c.h: %.proto
	$(AM_V_GEN)$(MKDIR_P) proto && $(PROTOC_C) -I $(top_srcdir)/proto --c_out=proto $<
