"""The routes: the page and its files, the state of the session, and operations on it."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from unifilter.explanation.render import page_data
from unifilter.explore import uploads
from unifilter.explore.access import Access
from unifilter.explore.guard import OwnPageOnly
from unifilter.explore.session import BusyError, Session
from unifilter.explore.training import Training

# Ten updates per second look continuous and cost next to nothing.
_SECONDS_BETWEEN_EVENTS = 0.1
# Requests other than uploads are short.
_WORDS_LIMIT = 100_000
_FILES = {"explore.js": "text/javascript", "explore.css": "text/css"}


def make_app(session: Session, access: Access) -> ASGIApp:
    """The application for one session, behind access control."""
    page = files("unifilter.explore") / "page"

    async def index(request: Request) -> Response:
        return Response((page / "explore.html").read_bytes(), media_type="text/html")

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _FILES:
            return _failure(404, f"there is no file {name!r}")
        return Response((page / "built" / name).read_bytes(), media_type=_FILES[name])

    async def state(request: Request) -> Response:
        return _json(session.to_dict())

    async def explanation(request: Request) -> Response:
        number = request.query_params.get("number", "0")
        if not re.fullmatch("[0-9]{1,9}", number):
            raise ValueError(f"the number of an explanation must be an integer, not {number[:20]!r}")
        return _json(await run_in_threadpool(lambda: page_data(session.explanation(int(number)))))

    async def open_named(request: Request) -> Response:
        words = await _words(request, name=str)
        await run_in_threadpool(session.open_named, words["name"])
        return _json(session.to_dict())

    async def upload(request: Request) -> Response:
        names, sizes = (request.query_params.getlist(key) for key in ("name", "size"))
        with uploads.new_folder() as folder:
            path = await uploads.receive(request.stream(), names, sizes, session.upload_limit, Path(folder))
            await run_in_threadpool(session.open_upload, path)
        return _json(session.to_dict())

    async def train(request: Request) -> Response:
        words = await _words(request, methods=list, split=str, epochs=int)
        await run_in_threadpool(session.train, words["methods"], words["split"], words["epochs"])
        return _json(session.to_dict())

    async def stop(request: Request) -> Response:
        session.stop()
        return _json(session.to_dict())

    async def events(request: Request) -> Response:
        training = session.training
        if training is None:
            raise ValueError("nothing is being trained: start a training first")
        return StreamingResponse(_events(session, training), media_type="text/event-stream")

    application = Starlette(
        routes=[
            Route("/", index),
            Route("/files/{name}", file),
            Route("/state", state),
            Route("/explanation", explanation),
            Route("/events", events),
            Route("/open", open_named, methods=["POST"]),
            Route("/upload", upload, methods=["POST"]),
            Route("/train", train, methods=["POST"]),
            Route("/stop", stop, methods=["POST"]),
        ],
        exception_handlers={
            ValueError: _answer(400),
            uploads.TooLargeError: _answer(413),
            BusyError: _answer(409),
            ClientDisconnect: _answer(400),
            Exception: _unexpected,
        },
    )
    return OwnPageOnly(application, access)


async def _events(session: Session, training: Training) -> AsyncIterator[str]:
    """Stream every epoch of a training as it comes, then the final state. A page that connects late gets all epochs."""
    sent: Counter[int] = Counter()
    while True:
        # Read before the curves, so that the last epochs are not missed.
        ended = training.state != "running"
        for number, curve in enumerate(training.curves):
            found = curve.since(sent[number])
            if found["loss"] or not sent[number]:
                yield _event("epochs", {"number": number, **found})
                sent[number] += len(found["loss"])
        if ended:
            yield _event("end", training.to_dict())
            return
        if session.closing.is_set():
            return
        await asyncio.sleep(_SECONDS_BETWEEN_EVENTS)


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n"


async def _words(request: Request, **kinds: type) -> dict[str, Any]:
    """The JSON object of a request, with a value of the given type for each of these names."""
    parts = [part async for part in uploads.limited(request.stream(), _WORDS_LIMIT, "the request")]
    try:
        words = json.loads(b"".join(parts))
    except (ValueError, RecursionError):  # RecursionError for deeply nested JSON
        raise ValueError("the request is not JSON: use the page") from None
    for name, kind in kinds.items():
        if not isinstance(words, dict) or not isinstance(words.get(name), kind) or isinstance(words[name], bool):
            raise ValueError(f"the request needs {name!r} ({kind.__name__}): use the page")
    return dict(words)


def _json(value: dict[str, Any]) -> Response:
    return JSONResponse(value)


def _failure(status: int, message: str) -> Response:
    return JSONResponse({"message": message}, status_code=status)


async def _unexpected(request: Request, error: Exception) -> Response:
    return _failure(500, f"unexpected error ({type(error).__name__}: {error}): see the traceback on the terminal")


def _answer(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        return _failure(status, str(error))

    return answer
