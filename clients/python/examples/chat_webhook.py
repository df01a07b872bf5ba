#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Posts events to a chat.

    chat_webhook.py https://chat.example.net/hooks/abc --types 'link-*,node-removed' --state /var/lib/webhook.position

Each event is a POST with the JSON object {"text": "..."}, which Slack, Mattermost, Rocket.Chat and others accept. The
file of --state has the number of the last event that was posted, so that a restart of this program neither loses nor
repeats an event. If the file does not exist yet, the program begins with new events. fabricd-events(7) lists the types.
"""

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request

from fabricd import FabricError, add_arguments, from_arguments, time_of, word
from fabricd.v1 import event_pb2

ATTEMPTS = 6
FIRST_PAUSE = 1.0
POST_TIMEOUT = 10


def post(url, text):
    """Posts a text. Repeats the attempt if the server is busy or cannot be reached."""
    body = json.dumps({"text": text}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    pause = FIRST_PAUSE
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(request, timeout=POST_TIMEOUT):
                return
        except urllib.error.URLError as error:
            code = getattr(error, "code", 0)
            if attempt == ATTEMPTS or (400 <= code < 500 and code != 429):
                raise
            time.sleep(pause)
            pause *= 2


def line(event):
    severity = word(event_pb2.EventSeverity, event.severity).upper()
    return f"{time_of(event.time):%Y-%m-%d %H:%M:%S} UTC {severity} {event.type}: {event.message}"


def load(path):
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except FileNotFoundError:
        return None


def save(path, sequence):
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(f"{sequence}\n")
    os.replace(path + ".new", path)


def run(fabric, options):
    def missed(range_of_events):
        if range_of_events.last_sequence:
            post(options.url, f"events {range_of_events.first_sequence} to {range_of_events.last_sequence} of the "
                              "fabric manager are no longer stored, and were not posted")

    after = load(options.state) if options.state else None
    if after is None:
        after = fabric.last_sequence()
    print(f"posting events after {after}", flush=True)
    for event in fabric.watch(options.types, after=after, severity=options.severity, on_missed=missed):
        post(options.url, line(event))
        if options.state:
            save(options.state, event.sequence)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="the address of the incoming webhook")
    parser.add_argument("--types", default="*", help="patterns of event types, with commas (default: all)")
    parser.add_argument("--severity", choices=("info", "warning", "error"), default="info", help="the lowest severity "
                        "to post (default info)")
    parser.add_argument("--state", metavar="FILE", help="file with the number of the last event that was posted")
    add_arguments(parser)
    options = parser.parse_args()
    try:
        with from_arguments(options) as fabric:
            run(fabric, options)
    except (FabricError, OSError, ValueError) as error:
        sys.exit(f"chat_webhook: {error}")


if __name__ == "__main__":
    main()
