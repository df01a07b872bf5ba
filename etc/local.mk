# The configuration file, the completion of bash, zsh and fish, the Grafana board, and the rules of Prometheus.

EXTRA_DIST += etc/fabricd.yaml etc/completion/fabricctl.bash etc/completion/fabricctl.zsh etc/completion/fabsim.bash
CLEANFILES += etc/completion/fabricctl etc/completion/fabsim etc/completion/_fabricctl

bashcompletion_DATA = etc/completion/fabricctl etc/completion/fabsim
etc/completion/fabricctl: etc/completion/fabricctl.bash
	$(AM_V_GEN)$(MKDIR_P) etc/completion && cp $< $@

# Shells find completions by the names of the files.
zshcompletiondir = $(datadir)/zsh/site-functions
zshcompletion_DATA = etc/completion/_fabricctl
etc/completion/_fabricctl: etc/completion/fabricctl.zsh
	$(AM_V_GEN)$(MKDIR_P) etc/completion && cp $< $@
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = etc/completion/fabricctl.fish

etc/completion/fabsim: etc/completion/fabsim.bash
	$(AM_V_GEN)$(MKDIR_P) etc/completion && cp $< $@

grafanadir = $(pkgdatadir)/grafana
prometheusdir = $(pkgdatadir)/prometheus
dist_grafana_DATA = etc/grafana/fabricd.json
dist_prometheus_DATA = etc/prometheus/fabricd.rules.yaml

# The file as shipped sets nothing; one that somebody edited is neither replaced nor removed.
fabricd_conf = $(DESTDIR)$(sysconfdir)/fabricd/fabricd.yaml
install-data-hook:
	$(MKDIR_P) $(DESTDIR)$(sysconfdir)/fabricd
	test -e $(fabricd_conf) || $(INSTALL_DATA) $(srcdir)/etc/fabricd.yaml $(fabricd_conf)

uninstall-hook:
	! cmp -s $(srcdir)/etc/fabricd.yaml $(fabricd_conf) || rm -f $(fabricd_conf)
	-rmdir $(DESTDIR)$(sysconfdir)/fabricd 2>/dev/null
