# The public contract. List a new .proto file here; C is generated from it into the build tree.

CONTRACT_PROTOS = \
	proto/fabric/v1/access.proto \
	proto/fabric/v1/audit.proto \
	proto/fabric/v1/backup.proto \
	proto/fabric/v1/baseline.proto \
	proto/fabric/v1/congestion.proto \
	proto/fabric/v1/contingency.proto \
	proto/fabric/v1/counters.proto \
	proto/fabric/v1/diagnostics.proto \
	proto/fabric/v1/drain.proto \
	proto/fabric/v1/event.proto \
	proto/fabric/v1/export.proto \
	proto/fabric/v1/fabric_service.proto \
	proto/fabric/v1/gone.proto \
	proto/fabric/v1/ha.proto \
	proto/fabric/v1/host.proto \
	proto/fabric/v1/inventory.proto \
	proto/fabric/v1/key.proto \
	proto/fabric/v1/link.proto \
	proto/fabric/v1/manager.proto \
	proto/fabric/v1/node.proto \
	proto/fabric/v1/class.proto \
	proto/fabric/v1/multicast.proto \
	proto/fabric/v1/partition.proto \
	proto/fabric/v1/policy.proto \
	proto/fabric/v1/port.proto \
	proto/fabric/v1/job.proto \
	proto/fabric/v1/quality.proto \
	proto/fabric/v1/registration.proto \
	proto/fabric/v1/reroute.proto \
	proto/fabric/v1/route.proto \
	proto/fabric/v1/sim_service.proto \
	proto/fabric/v1/status.proto \
	proto/fabric/v1/topology.proto
# What everybody has who speaks gRPC.
OTHER_PROTOS = \
	proto/google/protobuf/descriptor.proto \
	proto/google/protobuf/duration.proto \
	proto/google/protobuf/timestamp.proto \
	proto/grpc/health/v1/health.proto \
	proto/grpc/reflection/v1/reflection.proto \
	proto/grpc/reflection/v1alpha/reflection.proto
FABRIC_PROTOS = $(CONTRACT_PROTOS) $(OTHER_PROTOS)
# What fabricd uses as a client. Not in the descriptors, since no client of fabricd needs it.
ETCD_PROTO = proto/etcd/etcd.proto
ALL_PROTOS = $(FABRIC_PROTOS) $(ETCD_PROTO)

# Clients in other languages are made from the contract: $(datadir)/fabricd/proto.
nobase_dist_pkgdata_DATA = $(CONTRACT_PROTOS)
EXTRA_DIST += $(OTHER_PROTOS) $(ETCD_PROTO)

noinst_LIBRARIES += proto/libfabproto.a
nodist_proto_libfabproto_a_SOURCES = $(ALL_PROTOS:.proto=.pb-c.c) $(ALL_PROTOS:.proto=.pb-c.h) \
	proto/descriptors.c
proto_libfabproto_a_SOURCES = proto/descriptors.h
# Generated: not ours to keep free of warnings.
proto_libfabproto_a_CFLAGS = $(FAB_BASE_CFLAGS) $(PROTOBUFC_CFLAGS)

BUILT_SOURCES += $(ALL_PROTOS:.proto=.pb-c.h)
CLEANFILES += $(ALL_PROTOS:.proto=.pb-c.c) $(ALL_PROTOS:.proto=.pb-c.h) \
	proto/descriptors.c proto/descriptors.pb

# A pattern rule with two targets: GNU make runs it once for both.
%.pb-c.c %.pb-c.h: %.proto
	$(AM_V_GEN)$(MKDIR_P) proto && $(PROTOC_C) -I $(top_srcdir)/proto --c_out=proto $<

# All the files as one FileDescriptorSet, which the reflection service answers from, as a C array.
proto/descriptors.pb: $(FABRIC_PROTOS)
	$(AM_V_GEN)$(MKDIR_P) proto && cd $(top_srcdir)/proto && \
	$(PROTOC_C) -I . --include_imports --descriptor_set_out=$(abs_top_builddir)/$@ \
	$(FABRIC_PROTOS:proto/%=%)
proto/descriptors.c: proto/descriptors.pb
	$(AM_V_GEN){ echo '#include "proto/descriptors.h"'; echo 'const uint8_t fabric_descriptors[] = {'; \
	od -An -v -tu1 proto/descriptors.pb | $(SED) 's/[0-9][0-9]*/&,/g'; \
	echo '};'; echo 'const size_t fabric_descriptors_len = sizeof fabric_descriptors;'; } >$@
