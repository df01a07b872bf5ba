# Subnet administration: its wire, its answers, RMPP, the agent.
UNIT_TESTS += tests/unit/test_wire_sa
tests_unit_test_wire_sa_SOURCES = tests/unit/test_wire_sa.c
tests_unit_test_wire_sa_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_wire_sa_LDADD = $(LIB_TEST_LIBS)
