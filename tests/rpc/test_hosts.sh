#!/bin/sh
folder=$(dirname "$0")
exec sh "$folder/python.sh" "$folder/test_hosts.py"
