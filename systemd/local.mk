# systemd units and the sysusers.d file.
