#!/bin/sh
# run-linker.sh [--OPTION]... COMMAND...: runs the command that make gives to libtool, without libtool.
# configure chooses it if no shared library is built, because libtool then only passes the command on.
while :; do
    case $1 in
    --*) shift ;;
    *) exec "$@" ;;
    esac
done
