# systemd: one service, one service a plane, and the group that may use the socket.

EXTRA_DIST += systemd/fabricd.service.in systemd/fabricd@.service.in systemd/sysusers.conf
CLEANFILES += systemd/fabricd.service systemd/fabricd@.service systemd/fabricd.conf

systemdsystemunit_DATA = systemd/fabricd.service systemd/fabricd@.service
sysusers_DATA = systemd/fabricd.conf

systemd/%.service: systemd/%.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) systemd && $(edit) $< >$@.tmp && mv $@.tmp $@

systemd/fabricd.conf: systemd/sysusers.conf
	$(AM_V_GEN)$(MKDIR_P) systemd && cp $< $@
