# Subnet administration: its wire, its answers, RMPP, the agent.
UNIT_TESTS += tests/unit/test_wire_sa
tests_unit_test_wire_sa_SOURCES = tests/unit/test_wire_sa.c
tests_unit_test_wire_sa_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_wire_sa_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_sa
tests_unit_test_sa_SOURCES = tests/unit/test_sa.c
tests_unit_test_sa_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sa_LDADD = $(LIB_TEST_LIBS)

# How many path answers a second (not a test).
EXTRA_PROGRAMS += tests/bench/bench_sa
tests_bench_bench_sa_SOURCES = tests/bench/bench_sa.c
tests_bench_bench_sa_LDADD = libfabmgr/libfabmgr.la
