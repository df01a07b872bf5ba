# libfabmgr: pure computation. No sockets, files, clocks, threads, logging or globals, which
# tests/layers.sh checks. The client is a library of its own because it talks to a socket.

noinst_LIBRARIES += libfabmgr/libfabmgr.a libfabmgr/client/libfabclient.a
libfabmgr_libfabmgr_a_SOURCES =
libfabmgr_client_libfabclient_a_SOURCES =

include libfabmgr/base/local.mk
include libfabmgr/grpc/local.mk
include libfabmgr/wire/local.mk
include libfabmgr/fabric/local.mk
include libfabmgr/policy/local.mk
include libfabmgr/target/local.mk
include libfabmgr/mads/local.mk
include libfabmgr/discover/local.mk
include libfabmgr/smstate/local.mk
include libfabmgr/health/local.mk
include libfabmgr/hosts/local.mk
include libfabmgr/inventory/local.mk
include libfabmgr/counters/local.mk
include libfabmgr/address/local.mk
include libfabmgr/cabling/local.mk
include libfabmgr/congestion/local.mk
include libfabmgr/mcast/local.mk
include libfabmgr/partition/local.mk
include libfabmgr/qos/local.mk
include libfabmgr/registry/local.mk
include libfabmgr/route/local.mk
include libfabmgr/verify/local.mk
include libfabmgr/plan/local.mk
include libfabmgr/study/local.mk
include libfabmgr/repair/local.mk
include libfabmgr/spanning/local.mk
include libfabmgr/transition/local.mk
include libfabmgr/view/local.mk
include libfabmgr/sa/local.mk
include libfabmgr/svg/local.mk
include libfabmgr/export/local.mk
include libfabmgr/traffic/local.mk
include libfabmgr/sim/local.mk
include libfabmgr/recording/local.mk
include libfabmgr/opensm/local.mk
include libfabmgr/client/local.mk
include libfabmgr/shared.mk
