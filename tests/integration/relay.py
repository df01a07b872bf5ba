#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""relay.py LISTEN:TARGET:FROM:TO ...

Relays TCP connections between nodes on loopback, and cuts or delays what one node sends to another. LISTEN and
TARGET are ports. FROM and TO are the numbers of the nodes whose programs connect and listen; FROM 0: the relay finds the
node by the process that connects ("process", below).

Reads commands from standard input, one on a line, and ends at the end of the input:

    process NODE PID     this process belongs to the node
    cut FROM TO          nothing that FROM sends reaches TO
    slow FROM TO SECONDS what FROM sends reaches TO later
    heal                 all nodes reach all others at once

It models TCP over a network that loses packets: bytes are kept and delivered after the network heals, even if the
sender has closed the connection, because the sender's kernel would send them again. While a direction is cut, the
other one delivers at most WINDOW bytes of each connection, because no acknowledgement returns. A connection that
is made meanwhile begins after the cut. It prints "ready" when it listens.
"""
import asyncio
import collections
import os
import sys
import time

WINDOW = 65536


class Net:
    def __init__(self):
        self.held, self.delay, self.cuts = set(), {}, 0
        self.changed = asyncio.Event()
        self.node_of = {}

    def change(self):
        old, self.changed = self.changed, asyncio.Event()
        old.set()

    def command(self, line):
        word, *args = line.split() or ['']
        if word == 'process':
            self.node_of[int(args[1])] = int(args[0])
        elif word == 'cut':
            self.held.add((int(args[0]), int(args[1])))
            self.cuts += 1
        elif word == 'slow':
            self.delay[int(args[0]), int(args[1])] = float(args[2])
        elif word == 'heal':
            self.held.clear()
            self.delay.clear()
        elif word:
            sys.exit('relay.py: unknown command: ' + line)
        self.change()

    async def open(self, *directions):
        """Waits until none of the directions is cut."""
        while any(d in self.held for d in directions):
            await self.changed.wait()


def inode_of(port, peer):
    """The inode of the socket of the program that connected from `port` to `peer`, both on 127.0.0.1."""
    for line in open('/proc/net/tcp'):
        f = line.split()
        if f[1] == '0100007F:%04X' % port and f[2] == '0100007F:%04X' % peer:
            return f[9]
    return None


def owner(net, port, peer):
    inode = inode_of(port, peer)
    for pid, node in net.node_of.items():
        try:
            for fd in os.listdir('/proc/%d/fd' % pid):
                if os.readlink('/proc/%d/fd/%s' % (pid, fd)) == 'socket:[%s]' % inode:
                    return node
        except OSError:
            continue  # the process, or one of its files, is gone
    return None


class Pump:
    """Carries the bytes of one direction of a connection."""

    def __init__(self, net, direction, reader):
        self.net, self.direction, self.reader = net, direction, reader
        self.queue, self.size, self.more = collections.deque(), 0, asyncio.Event()
        self.passed, self.cut = 0, 0  # bytes passed since this cut of the other direction

    async def read(self):
        while True:
            while self.size > 4 * WINDOW:
                await asyncio.sleep(0.01)
            try:
                data = await self.reader.read(WINDOW)
            except OSError:
                data = b''
            self.queue.append((time.monotonic() + self.net.delay.get(self.direction, 0), data))
            self.size += len(data)
            self.more.set()
            if not data:
                return

    async def window(self, size):
        """Waits until the other node could acknowledge so many bytes."""
        back = self.direction[::-1]
        while back in self.net.held:
            if self.cut != self.net.cuts:
                self.cut, self.passed = self.net.cuts, 0
            if self.passed + size <= WINDOW:
                self.passed += size
                return
            await self.net.changed.wait()

    async def write(self, writer):
        while True:
            while not self.queue:
                self.more.clear()
                await self.more.wait()
            due, data = self.queue.popleft()
            self.size -= len(data)
            await asyncio.sleep(max(0, due - time.monotonic()))
            await self.net.open(self.direction)
            await self.window(len(data))
            if not data:
                writer.close()
                return
            writer.write(data)
            await writer.drain()


async def relay(net, target, source, to, reader, writer):
    tasks = []
    out = None
    try:
        if source == 0:
            source = owner(net, writer.get_extra_info('peername')[1], writer.get_extra_info('sockname')[1])
        if source is None:
            return
        there, back = (source, to), (to, source)
        first = Pump(net, there, reader)
        tasks.append(asyncio.ensure_future(first.read()))
        await net.open(there, back)
        await asyncio.sleep(net.delay.get(there, 0) + net.delay.get(back, 0))
        back_reader, out = await asyncio.open_connection('127.0.0.1', target)
        second = Pump(net, back, back_reader)
        tasks += [asyncio.ensure_future(x) for x in (second.read(), first.write(out), second.write(writer))]
        await asyncio.wait(tasks[2:])
    except OSError:
        pass
    finally:
        for t in tasks:
            t.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for w in (writer, out):
            if w is not None:
                w.close()


async def main():
    net = Net()
    loop = asyncio.get_running_loop()
    for spec in sys.argv[1:]:
        listen, target, source, to = map(int, spec.split(':'))
        await asyncio.start_server(lambda r, w, t=target, s=source, d=to: relay(net, t, s, d, r, w), '127.0.0.1', listen)
    print('ready', flush=True)
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while True:
        line = await commands.readline()
        if not line:
            return
        net.command(line.decode())


if __name__ == '__main__':
    asyncio.run(main())
