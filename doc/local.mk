# Man pages.

dist_man_MANS += doc/fabsim.1
