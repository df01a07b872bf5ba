"""Drives a headless Chromium by its DevTools protocol: opens pages, evaluates expressions, sends keys, takes
screenshots. Needs Debian's chromium and python3-aiohttp."""

import asyncio
import base64
import ctypes
import itertools
import os
import signal
import subprocess
import tempfile

import aiohttp

PATIENCE = 30
ARGUMENTS = ["--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--force-device-scale-factor=1", "--font-render-hinting=none", "--force-color-profile=srgb",
             "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-port=0"]


PR_SET_PDEATHSIG = 1


def end_with_parent():
    """Called in the process of the browser: it ends when the test is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Chromium:
    """A browser with one tab. Use it with `async with`."""

    def __init__(self, width=1440, height=900, arguments=()):
        self.size = (width, height)
        self.arguments = list(arguments)
        self.numbers = itertools.count(1)
        self.answers = {}
        self.errors = []  # what the console of the page says, and exceptions

    async def __aenter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        arguments = ARGUMENTS + self.arguments + ["--user-data-dir=" + self.folder.name,
                                                  "--window-size=%d,%d" % self.size]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")  # Chromium's sandbox does not work for root
        self.process = subprocess.Popen(["chromium", *arguments, "about:blank"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                        preexec_fn=end_with_parent)
        self.session = aiohttp.ClientSession()
        try:
            await self._connect(await self._port())
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def _port(self):
        path = os.path.join(self.folder.name, "DevToolsActivePort")
        for _ in range(PATIENCE * 20):
            if os.path.exists(path):
                with open(path, encoding="ascii") as file:
                    lines = file.read().splitlines()
                if len(lines) == 2:
                    return int(lines[0])
            assert self.process.poll() is None, "chromium ended"
            await asyncio.sleep(0.05)
        raise AssertionError("chromium does not start")

    async def _connect(self, port):
        async with self.session.get(f"http://127.0.0.1:{port}/json") as answer:
            pages = [t for t in await answer.json() if t["type"] == "page"]
        self.socket = await self.session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0)
        self.reader = asyncio.create_task(self._read())
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(domain + ".enable")
        await self.call("Emulation.setDeviceMetricsOverride", width=self.size[0], height=self.size[1],
                        deviceScaleFactor=1, mobile=False)

    async def __aexit__(self, *_):
        if hasattr(self, "reader"):
            self.reader.cancel()
            await asyncio.gather(self.reader, return_exceptions=True)
        await self.session.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    async def _read(self):
        async for message in self.socket:
            data = message.json()
            if "id" in data:
                future = self.answers.pop(data["id"], None)
                if future is not None and not future.done():
                    future.set_result(data)
            elif data["method"] == "Runtime.exceptionThrown":
                self.errors.append(str(data["params"]["exceptionDetails"].get("exception", data["params"])))
            elif data["method"] == "Log.entryAdded" and data["params"]["entry"]["level"] == "error":
                self.errors.append(data["params"]["entry"]["text"] + " " + data["params"]["entry"].get("url", ""))

    async def call(self, method, **parameters):
        number = next(self.numbers)
        future = self.answers[number] = asyncio.get_running_loop().create_future()
        await self.socket.send_json({"id": number, "method": method, "params": parameters})
        answer = await asyncio.wait_for(future, PATIENCE)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    async def evaluate(self, expression):
        """Returns the value of an expression (JavaScript)."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer["exceptionDetails"])
        return answer["result"].get("value")

    async def until(self, expression, seconds=PATIENCE):
        """Waits until the value of an expression is true; returns the value."""
        for _ in range(int(seconds * 20)):
            value = await self.evaluate("(() => { try { const value = " + expression + "; "
                                        "return value instanceof Node ? true : value } catch { return null } })()")
            if value:
                return value
            await asyncio.sleep(0.05)
        raise AssertionError("not within %d s: %s" % (seconds, expression))

    async def open(self, url, ready="document.readyState === 'complete'"):
        await self.call("Page.navigate", url=url)
        return await self.until(f"location.href.startsWith({url!r}) && ({ready})")

    async def press(self, key):
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        event = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0), "code": key}
        if key == "Enter":
            event["text"] = "\r"
        await self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    async def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def color_scheme(self, scheme):
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def screenshot(self, path):
        answer = await self.call("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
