# Man pages.

dist_man_MANS += doc/fabsim.1
dist_man_MANS += doc/fabricd.yaml.5
dist_man_MANS += doc/fabricd.8
dist_man_MANS += doc/fabricctl.1
