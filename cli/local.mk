# The two programs for people: fabricctl talks to a fabricd, fabsim makes fabrics up.

bin_PROGRAMS += cli/fabricctl cli/fabsim

cli_fabricctl_SOURCES = cli/fabricctl.c
cli_fabricctl_CFLAGS = $(AM_CFLAGS) $(NGHTTP2_CFLAGS) $(PROTOBUFC_CFLAGS) $(OPENSSL_CFLAGS)
cli_fabricctl_LDADD = libfabmgr/client/libfabclient.la proto/libfabproto.la libfabmgr/libfabmgr.la \
	$(NGHTTP2_LIBS) $(PROTOBUFC_LIBS) $(OPENSSL_LIBS)

# In cli/sim, since cli/fabsim is the program.
cli_fabsim_SOURCES = \
	cli/sim/cmd.h \
	cli/sim/cmd_check.c \
	cli/sim/cmd_generate.c \
	cli/sim/file.c \
	cli/sim/main.c
cli_fabsim_LDADD = libfabmgr/libfabmgr.la
