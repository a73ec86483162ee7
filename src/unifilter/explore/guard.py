"""Access control: requests need the token, and must come from the server's own page."""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unifilter.explore.access import Access, leading_to

# The page may load only its own files and contact only its own server; the browser blocks everything else.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


class OwnPageOnly:
    """Rejects requests to another host name, requests without the token, and changes requested by other sites.

    A foreign name that resolves to 127.0.0.1 would make the browser treat the foreign page and this server as one site,
    so the ``Host`` header must be ours. Other users of the machine can reach the port as well, so a token is required;
    the browser gets a cookie with it. Any site can send a form to this server, so changes must come from our own page.

    This wraps the whole application, so that all responses have the headers, including those to unexpected errors.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        answer = self._answer(Request(scope)) or self.app
        await answer(scope, receive, send_with_headers)

    def _answer(self, request: Request) -> Response | None:
        """An error, or a cookie for the token; ``None`` for a request to pass on to the application."""
        access = self.access
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in access.hosts:
            return _refuse(
                request, f"this server accepts the host {' or '.join(access.hosts)}, not {', '.join(hosts)!r}"
            )
        asks_to_enter = request.method == "GET" and request.scope["path"] == "/"
        if asks_to_enter and access.admits(request.query_params.get("token", "")):
            return _welcome(access)
        if not access.admits(request.cookies.get(access.cookie, "")):
            return _refuse(
                request,
                "this page needs the full address with its token, as printed when the server started: copy it from the "
                "terminal into the address bar",
            )
        refusal = _foreign(request, hosts[0])
        return _refuse(request, refusal) if refusal else None


def _welcome(access: Access) -> Response:
    """Set the cookie and redirect to the page.

    The redirect is a page rather than a status code: after a link from another site or a file, browsers follow a status
    redirect without a strict cookie.
    """
    answer = HTMLResponse(leading_to("/"))
    answer.set_cookie(access.cookie, access.token, httponly=True, samesite="strict", path="/")
    return answer


def _foreign(request: Request, host: str) -> str:
    """The error for a change requested by another site, or an empty string."""
    if request.method in ("GET", "HEAD"):
        return ""
    origin = request.headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return f"a page of {origin!r} may not change anything here"
    # Browsers that send no origin at least say whether the request comes from another site.
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "a page of another site may not change anything here"
    return ""


def _refuse(request: Request, message: str) -> Response:
    """An error as HTML for people, or as JSON for the page and for programs."""
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"message": message}, status_code=403)
    return HTMLResponse(
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>UniFilter: not opened</title>\n'
        f"<h1>Not opened</h1>\n<p>{escape(message[0].upper() + message[1:])}.</p>\n</html>\n",
        status_code=403,
    )
