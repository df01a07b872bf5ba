# Man pages: add them to dist_man_MANS.
