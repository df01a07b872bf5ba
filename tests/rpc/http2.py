"""HTTP/2 frames by hand, for clients that misbehave as no library would."""

import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


def settings(**values):
    codes = {"initial_window": 4}
    return frame(SETTINGS, payload=b"".join(
        struct.pack(">HI", codes[k], v) for k, v in values.items()))


def literal(name, value):
    """A header field without indexing and without Huffman coding (RFC 7541, 6.2.2)."""
    def string(text):
        text = text.encode()
        assert len(text) < 127 + 128
        if len(text) < 127:
            return bytes([len(text)]) + text
        return bytes([127, len(text) - 127]) + text
    return b"\0" + string(name) + string(value)


def request_headers(path, **more):
    fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x",
              "te": "trailers", "content-type": "application/grpc"}
    fields.update({k.replace("_", "-"): v for k, v in more.items()})
    return b"".join(literal(k, v) for k, v in fields.items())


def request(stream, path, message=b"", **headers):
    body = b"\0" + struct.pack(">I", len(message)) + message
    return frame(HEADERS, END_HEADERS, stream, request_headers(path, **headers)) + frame(
        DATA, END_STREAM, stream, body)


class Raw:
    """A connection, which sends the preface at once."""

    def __init__(self, address, hello=PREFACE + settings()):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(address.removeprefix("unix:"))  # waits if the backlog is full
        self.socket.settimeout(90)  # the server gives slow headers 30 seconds
        self.send(hello)

    def send(self, data):
        self.socket.sendall(data)

    def frames(self):
        """Returns frames as (kind, flags, stream, payload), until the server closes the connection."""
        data = b""
        while True:
            while len(data) >= 9 and len(data) >= 9 + (length := int.from_bytes(data[:3], "big")):
                stream = int.from_bytes(data[5:9], "big")
                yield data[3], data[4], stream, data[9:9 + length]
                data = data[9 + length:]
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                return
            if not more:
                return
            data += more

    def is_closed(self):
        """Reads to the end. Returns True if the server closed the connection."""
        for _ in self.frames():
            pass
        return True

    def close(self):
        self.socket.close()
