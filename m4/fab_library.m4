# FAB_LIBRARY(PREFIX, PKG-CONFIG-MODULE, DEBIAN-PACKAGE, WHAT-IT-IS-FOR)
#
# Look a library up with pkg-config. A missing one is not an error yet: it is noted, so that
# FAB_LIBRARIES_DONE can name all of them at once.
AC_DEFUN([FAB_LIBRARY],
[PKG_CHECK_MODULES([$1], [$2], [], [FAB_MISSING([$2], [$3], [$4])])])

# FAB_MISSING(WHAT, DEBIAN-PACKAGE, WHAT-IT-IS-FOR): note one thing that is not there.
AC_DEFUN([FAB_MISSING],
[AC_MSG_WARN([missing: $1 ($3); Debian package $2])
fab_missing_packages="$fab_missing_packages $2"])

# FAB_LIBRARIES_DONE: stop if anything was noted, with the one command that helps.
AC_DEFUN([FAB_LIBRARIES_DONE],
[AS_IF([test -n "$fab_missing_packages"],
  [fab_missing_packages=`echo $fab_missing_packages | tr ' ' '\n' | sort -u | tr '\n' ' ' | sed 's/ $//'`
   AC_MSG_ERROR([some of what fabricd is built from is not installed, each named in a warning above.
On Debian this installs all of it:
    apt-get install $fab_missing_packages])])])

# FAB_HARDEN(FLAGS): add flags that harden the programs to FAB_BASE_CFLAGS, if the compiler takes
# them without a warning. _FORTIFY_SOURCE, for example, needs optimization, which CFLAGS decides.
AC_DEFUN([FAB_HARDEN],
[AC_MSG_CHECKING([whether $CC takes $1])
fab_save_CFLAGS=$CFLAGS
CFLAGS="$1 $CFLAGS -Werror"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]], [[]])],
  [AC_MSG_RESULT([yes])
   FAB_BASE_CFLAGS="$FAB_BASE_CFLAGS $1"],
  [AC_MSG_RESULT([no])])
CFLAGS=$fab_save_CFLAGS])
