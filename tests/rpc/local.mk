# The RPC: driven by Debian's Python gRPC library, over a manager that manages nothing.
EXTRA_DIST += tests/rpc/test_grpcio.py tests/rpc/fake_sm.h

if TESTS_ENABLED
check_PROGRAMS += tests/rpc/rpc_server
endif
tests_rpc_rpc_server_SOURCES = tests/rpc/rpc_server.c tests/rpc/fake_sm.c
tests_rpc_rpc_server_CFLAGS = $(TEST_CFLAGS) $(OPENSSL_CFLAGS)
tests_rpc_rpc_server_LDADD = $(FABRICD_LIBS)
