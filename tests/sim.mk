# Discovery and the simulated fabric test each other.
SUPPORT_DRIVE = tests/support/drive.c tests/support/drive.h

UNIT_TESTS += tests/unit/test_discover
tests_unit_test_discover_SOURCES = tests/unit/test_discover.c $(SUPPORT_DRIVE)
tests_unit_test_discover_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_discover_LDADD = $(LIB_TEST_LIBS)

UNIT_TESTS += tests/unit/test_sim
tests_unit_test_sim_SOURCES = tests/unit/test_sim.c $(SUPPORT_DRIVE)
tests_unit_test_sim_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sim_LDADD = $(LIB_TEST_LIBS)
