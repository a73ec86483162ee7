"""Who may ask: this machine's own page, and no page of another site that happens to be open in the browser."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")

# The page loads its own two files and speaks to its own server; everything else is refused by the browser itself.
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


class OwnPageOnly:
    """Refuses requests under another host name, and changes that another site's page asks for.

    A foreign name that resolves to 127.0.0.1 would make the browser treat its page and this server as one site, so the
    ``Host`` must be ours. Any site can send a form here, so whatever changes something must come from our own page.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = _refusal(scope["method"], Headers(scope=scope))
        if refusal:
            await JSONResponse({"message": refusal}, status_code=403)(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), value.encode()) for name, value in _HEADERS.items()),
                ]
            await send(message)

        await self.app(scope, receive, send_with_headers)


def _refusal(method: str, headers: Headers) -> str:
    host = headers.get("host", "")
    if host.rpartition(":")[0] not in HOSTS and host not in HOSTS:
        return f"this server answers to {' and '.join(HOSTS)} only, not to {host!r}"
    if method in ("GET", "HEAD"):
        return ""
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return f"a page of {origin!r} may not change anything here"
    # Browsers without an origin to send say at least whether it is another site's.
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "a page of another site may not change anything here"
    return ""
