"""The console's server: a thread of the driver, on this machine and behind a token unless told otherwise."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from muntin.console.prometheus import text_of
from muntin.console.service import Service
from muntin.core.errors import ConfigError

PORT = 4680
"""Where a console listens unless told otherwise, or on any port where that is taken."""

BEAT = 10.0
"""Seconds after which a page hears of the run even if no batch was done (whether it is active, and why not)."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_ASSETS = {"console.js": "text/javascript", "console.css": "text/css", "plot.js": "text/javascript"}
_LOCAL = ["127.0.0.1", "localhost"]
_REFUSED = "The console is behind a token: open the address that the run printed, or send the token as bearer.\n"

Handler = Callable[[Request], Awaitable[Response]]


class Console:
    """A console that is being served. ``url``: for a browser, with the token; ``close`` ends it."""

    def __init__(self, service: Service, host: str, port: int, token: str) -> None:
        self.service, self.token = service, token
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"
        self._app = App(service, token, host, f"muntin-{self.port}")
        config = uvicorn.Config(
            self._app.starlette, log_level="warning", lifespan="off", access_log=False, loop="asyncio", http="h11",
            ws="none", timeout_graceful_shutdown=1, server_header=False,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="muntin-console", daemon=True
        )
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._app.closing

    @property
    def url(self) -> str:
        return f"{self.address}?token={self.token}" if self.token else self.address

    def close(self) -> None:
        """End the server; browsers say that the run is out of sight. Safe to call again."""
        if self.closed:
            return
        self._app.closing = True
        self._server.should_exit = True
        self._thread.join(5.0)
        self._socket.close()
        self.service.close()

    def __repr__(self) -> str:
        return f"Console({self.url})"

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank" rel="noopener">Console of the run</a>'


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(64)
    except (OSError, OverflowError) as e:
        told = f"the console cannot listen on {host}, port {port} ({e}): choose another, or port 0 for any"
        raise ConfigError(told) from e
    return found


class App:
    """The pages, each behind the token."""

    def __init__(self, service: Service, token: str, host: str, cookie: str) -> None:
        self.service, self.token, self.cookie, self.closing = service, token, cookie, False
        # A page of another site may have its name resolved to this machine: requests name whom they mean.
        hosts = [*_LOCAL, host] if host not in ("0.0.0.0", "::") else ["*"]
        routes = [
            Route("/", self._guarded(self._page)),
            *(Route(f"/{name}", self._guarded(self._asset)) for name in _ASSETS),
            Route("/api/run", self._guarded(self._whole)),
            Route("/api/results/{name:path}", self._guarded(self._results)),
            Route("/events", self._guarded(self._events)),
            Route("/metrics", self._guarded(self._metrics)),
        ]
        self.starlette = Starlette(routes=routes, middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)])

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            asked = request.query_params.get("token", "")
            given = asked or request.cookies.get(self.cookie, "") or _bearer(request)
            if self.token and not secrets.compare_digest(given.encode(), self.token.encode()):
                return PlainTextResponse(_REFUSED, 401, HEADERS)
            if asked and self.token and request.url.path == "/":  # keep the token out of the address bar
                response: Response = RedirectResponse("/", 303, HEADERS)
                response.set_cookie(self.cookie, self.token, httponly=True, samesite="lax")
                return response
            response = await handler(request)
            response.headers.update(HEADERS)
            return response

        return guarded

    async def _page(self, request: Request) -> Response:
        return Response(_file("index.html"), media_type="text/html")

    async def _asset(self, request: Request) -> Response:
        name = request.url.path.lstrip("/")
        return Response(_file(name), media_type=_ASSETS[name])

    async def _whole(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self.service.whole))

    async def _results(self, request: Request) -> Response:
        found = await asyncio.to_thread(self.service.results, request.path_params["name"])
        return JSONResponse({"note": "there is no such query"}, 404) if found is None else JSONResponse(found)

    async def _metrics(self, request: Request) -> Response:
        def text() -> bytes:
            picture = self.service.picture()
            return text_of(picture, self.service.words(picture))

        return Response(await asyncio.to_thread(text), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _events(self, request: Request) -> Response:
        return StreamingResponse(self._pictures(), media_type="text/event-stream")

    async def _pictures(self) -> AsyncIterator[str]:
        """A picture now, after each batch, and now and then."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            loop.call_soon_threadsafe(news.set)

        self.service.listeners.add(tell)
        try:
            waited = BEAT
            while not self.closing:
                if waited >= BEAT or news.is_set():
                    news.clear()
                    waited = 0.0
                    yield f"data: {_compact(await asyncio.to_thread(self.service.picture))}\n\n"
                try:
                    await asyncio.wait_for(news.wait(), 0.5)  # looks up now and then whether the server closes
                except TimeoutError:
                    waited += 0.5
        finally:
            self.service.listeners.discard(tell)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _file(name: str) -> bytes:
    return (files("muntin.console") / "page" / name).read_bytes()


def serve(service: Service, host: str = "127.0.0.1", port: int | None = None, token: str | None = None) -> Console:
    """Serve a run. ``port``: 0 for any, None for ``PORT`` or any; ``token``: what browsers must know (None: a random
    one, "": nothing is asked, on this machine only).

    Raises ConfigError where the address is taken, and for an address that others reach without a token.
    """
    if token == "" and host not in _LOCAL:
        raise ConfigError(f"a console on {host} is seen from other machines: give it a token")
    secret = secrets.token_urlsafe(16) if token is None else token
    if port is not None:
        return Console(service, host, port, secret)
    try:
        return Console(service, host, PORT, secret)
    except ConfigError:
        return Console(service, host, 0, secret)
