# Man pages.

dist_man_MANS += doc/fabsim.1
dist_man_MANS += doc/fabric-certificate-check.1
dist_man_MANS += doc/fabricd.yaml.5
dist_man_MANS += doc/fabricd-policy.5
dist_man_MANS += doc/fabricd.8
dist_man_MANS += doc/fabricctl.1
dist_man_MANS += doc/fabricd-events.7

# Writes fabricd-events.7 from the table of events.
check_PROGRAMS += doc/events_page
doc_events_page_SOURCES = doc/events_page.c fabricd/base/events.h
doc_events_page_LDADD = fabricd/libfabricd.a

# The JSON Schemas of applied policies, and of the output of fabricctl: $(datadir)/fabricd. The latter is what
# `fabricctl schema` prints.
schemadir = $(pkgdatadir)
dist_schema_DATA = doc/policy.schema.json doc/fabricctl.schema.json
