# The configuration file and the bash completion.

EXTRA_DIST += etc/fabricd.yaml etc/completion/fabricctl.bash etc/completion/fabsim.bash
CLEANFILES += etc/completion/fabricctl etc/completion/fabsim

bashcompletion_DATA = etc/completion/fabricctl etc/completion/fabsim
etc/completion/fabricctl: etc/completion/fabricctl.bash
	$(AM_V_GEN)$(MKDIR_P) etc/completion && cp $< $@
etc/completion/fabsim: etc/completion/fabsim.bash
	$(AM_V_GEN)$(MKDIR_P) etc/completion && cp $< $@

# The file as shipped sets nothing; one that somebody edited is neither replaced nor removed.
fabricd_conf = $(DESTDIR)$(sysconfdir)/fabricd/fabricd.yaml
install-data-hook:
	$(MKDIR_P) $(DESTDIR)$(sysconfdir)/fabricd
	test -e $(fabricd_conf) || $(INSTALL_DATA) $(srcdir)/etc/fabricd.yaml $(fabricd_conf)

uninstall-hook:
	! cmp -s $(srcdir)/etc/fabricd.yaml $(fabricd_conf) || rm -f $(fabricd_conf)
	-rmdir $(DESTDIR)$(sysconfdir)/fabricd 2>/dev/null
