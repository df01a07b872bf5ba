# fabricd-web. `make` and `make install` leave it out, because it needs Python, aiohttp and the client of
# clients/python; `make install-web` installs its files, and nothing of it is built.

web_modules = web/fabricd_web/__init__.py web/fabricd_web/__main__.py web/fabricd_web/api.py web/fabricd_web/encode.py \
	web/fabricd_web/errors.py web/fabricd_web/fabric_map.py web/fabricd_web/limits.py web/fabricd_web/methods.py \
	web/fabricd_web/openapi.py web/fabricd_web/options.py web/fabricd_web/pages.py web/fabricd_web/query.py \
	web/fabricd_web/security.py web/fabricd_web/server.py web/fabricd_web/topology.py web/fabricd_web/upstream.py \
	web/fabricd_web/views.py
web_page = web/page/index.html web/page/style.css web/page/icon.svg web/page/dom.js web/page/events.js web/page/history.js \
	web/page/layout.js web/page/main.js web/page/map.js web/page/panel.js
EXTRA_DIST += $(web_modules) $(web_page) web/fabricd-web.in web/fabricd-web.service.in web/sysusers.conf web/default doc/fabricd-web.8

webdir = $(datadir)/fabricd-web
web_edit = $(SED) -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@webdir[@]|$(webdir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g'

install-web:
	$(MKDIR_P) $(DESTDIR)$(webdir)/fabricd_web $(DESTDIR)$(webdir)/page $(DESTDIR)$(sbindir) $(DESTDIR)$(man8dir) \
		$(DESTDIR)$(systemdsystemunitdir) $(DESTDIR)$(sysusersdir) $(DESTDIR)$(sysconfdir)/default
	for file in $(web_modules) $(web_page); do \
		$(INSTALL_DATA) $(srcdir)/$$file $(DESTDIR)$(webdir)/$${file#web/} || exit 1; done
	$(web_edit) $(srcdir)/web/fabricd-web.in >$(DESTDIR)$(sbindir)/fabricd-web
	chmod 755 $(DESTDIR)$(sbindir)/fabricd-web
	$(web_edit) $(srcdir)/web/fabricd-web.service.in >$(DESTDIR)$(systemdsystemunitdir)/fabricd-web.service
	$(INSTALL_DATA) $(srcdir)/web/sysusers.conf $(DESTDIR)$(sysusersdir)/fabricd-web.conf
	test -e $(DESTDIR)$(sysconfdir)/default/fabricd-web || \
		$(INSTALL_DATA) $(srcdir)/web/default $(DESTDIR)$(sysconfdir)/default/fabricd-web
	$(INSTALL_DATA) $(srcdir)/doc/fabricd-web.8 $(DESTDIR)$(man8dir)/fabricd-web.8
.PHONY: install-web
