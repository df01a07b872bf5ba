# systemd: the service, the service of one plane, the user and group, their folders, and the rule for the devices.

EXTRA_DIST += systemd/fabricd.service.in systemd/fabricd@.service.in systemd/sysusers.conf systemd/tmpfiles.conf systemd/60-fabricd.rules
CLEANFILES += systemd/fabricd.service systemd/fabricd@.service systemd/fabricd.conf systemd/tmpfiles/fabricd.conf

systemdsystemunit_DATA = systemd/fabricd.service systemd/fabricd@.service
sysusers_DATA = systemd/fabricd.conf
tmpfiles_DATA = systemd/tmpfiles/fabricd.conf
udevrules_DATA = systemd/60-fabricd.rules

systemd/%.service: systemd/%.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) systemd && $(edit) $< >$@.tmp && mv $@.tmp $@

systemd/fabricd.conf: systemd/sysusers.conf
	$(AM_V_GEN)$(MKDIR_P) systemd && cp $< $@
systemd/tmpfiles/fabricd.conf: systemd/tmpfiles.conf
	$(AM_V_GEN)$(MKDIR_P) systemd/tmpfiles && cp $< $@
