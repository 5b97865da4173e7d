"""A headless Chromium, spoken to through pipes (its DevTools protocol): enough to look at a page and press a button."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page. ``errors``: what the page wrote to its console as errors, and exceptions."""

    def __init__(self, profile: Path) -> None:
        down, self._in = os.pipe()
        self._out, up = os.pipe()

        def move() -> None:  # Chromium reads commands from 3 and writes answers to 4
            copies = os.dup(down), os.dup(up)
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        command = [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--remote-debugging-pipe", "--no-first-run", "--disable-extensions", f"--user-data-dir={profile}",
            "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, preexec_fn=move, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(down)
        os.close(up)
        self._buffer, self._number, self._session = b"", 0, ""
        self.errors: list[str] = []
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._in, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                found: dict[str, Any] = answer["result"]
                return found
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._out], [], [], 60)
            read = os.read(self._out, 1 << 20) if ready else b""
            if not read:
                raise RuntimeError("Chromium does not answer")
            self._buffer += read
        raw, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(raw)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(told["exceptionDetails"])[:500])
            case "Runtime.consoleAPICalled" if told["type"] == "error":
                self.errors.append(json.dumps(told["args"])[:500])
            case "Log.entryAdded" if told["entry"]["level"] == "error":
                self.errors.append(json.dumps(told["entry"])[:500])

    def size(self, width: int, height: int, phone: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def ask(self, expression: str) -> Any:
        """The value of an expression on the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def until(self, expression: str, seconds: float = 30.0) -> Any:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not (found := self.ask(expression)):
            if time.monotonic() > end:
                shown = self.ask("document.body.innerText")
                raise AssertionError(f"not true in time: {expression}; {self.errors}; {shown}")
            time.sleep(0.1)
        return found

    def shot(self, path: Path, whole: bool = True) -> None:
        """A picture of the whole page as PNG."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)
        os.close(self._in)
        os.close(self._out)
