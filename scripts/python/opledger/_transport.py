"""Sends requests over HTTP, with the standard library alone."""

from __future__ import annotations

import ipaddress
import os
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from typing import Any, Union, cast

from ._protocol import Reply, Send, Unreached

Token = Union[str, "os.PathLike[str]", Callable[[], str], None]


class Transport:
    """Sends requests to opledger, and with other secrets to Gemini and to Cloud Storage. Threads may share it."""

    def __init__(self, url: str, token: Token, gemini_key: str, google_token: Token) -> None:
        self._url = url
        self._token = token
        self._gemini_key = gemini_key
        self._google_token = google_token

    def send(self, command: Send) -> Reply:
        """Returns the answer to a request. Raises Unreached."""
        url = self._url + command.url if command.url.startswith("/") else command.url
        request = urllib.request.Request(url, command.body, dict(command.headers), method=command.method)
        try:
            self._authorize(request, command.auth)
            with opener(url).open(request, timeout=command.timeout) as opened:
                response = cast(HTTPResponse, opened)
                body = b""
                if command.into is None:
                    body = response.read()
                else:
                    shutil.copyfileobj(response, command.into)
                return Reply(response.status, _lower(response.headers), body)
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, _lower(error.headers), _body(error))
        except urllib.error.URLError as error:
            raise Unreached(str(error.reason)) from error
        except (OSError, HTTPException, ValueError) as error:
            raise Unreached(str(error) or type(error).__name__) from error

    def _authorize(self, request: urllib.request.Request, auth: str) -> None:
        if auth == "gemini":
            request.add_unredirected_header("x-goog-api-key", self._gemini_key)
            return
        token = {"opledger": self._token, "google": self._google_token}.get(auth)
        try:
            text = _text_of(token)
        except Exception as error:
            raise Unreached(f"the token cannot be had: {error}") from error
        if text:
            request.add_unredirected_header("Authorization", f"Bearer {text}")


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in headers.items()}


def _body(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(1 << 20)
    except (OSError, HTTPException, ValueError):
        return b""


def _text_of(token: Token) -> str:
    if token is None:
        return _token_of_environment()
    if isinstance(token, str):
        return token
    return token() if callable(token) else _token_in(token)


def _token_in(file: str | os.PathLike[str]) -> str:
    with open(file, encoding="ascii") as content:
        return content.read().strip()


def _token_of_environment() -> str:
    """Returns OPLEDGER_TOKEN, or what the file has now that OPLEDGER_TOKEN_FILE names; else an empty text."""
    file = os.environ.get("OPLEDGER_TOKEN_FILE", "")
    if (token := os.environ.get("OPLEDGER_TOKEN", "")) or not file:
        return token
    return _token_in(file)


def check_token_of_environment() -> None:
    """Raises ValueError where the file of the token cannot be read."""
    try:
        _token_of_environment()
    except (OSError, ValueError) as error:
        raise ValueError(f"OPLEDGER_TOKEN_FILE: {error}; opledger serve prints which it is") from None


def google_token(audience: str = "") -> Callable[[], str]:
    """Returns a function that returns a valid token of Google's, for the token of a client.

    It needs google-auth: `pip install google-auth requests`.

    Args:
        audience: The URL of Register, for an identity token. Empty: an access token, such as for Cloud Storage.

    Raises:
        ImportError: google-auth is not installed.

    Example:
        >>> client = Opledger("https://register.example", token=google_token("https://register.example"))
        ... # doctest: +SKIP
    """
    transport: Any = __import__("google.auth.transport.requests", fromlist=["Request"])
    if audience:
        id_token: Any = __import__("google.oauth2.id_token", fromlist=["id_token"])
        credentials: Any = id_token.fetch_id_token_credentials(audience)
    else:
        auth: Any = __import__("google.auth", fromlist=["default"])
        credentials, _ = auth.default(scopes=["https://www.googleapis.com/auth/devstorage.read_write"])

    def token() -> str:
        if not credentials.valid:
            credentials.refresh(transport.Request())
        return str(credentials.token)

    return token


def opener(url: str) -> urllib.request.OpenerDirector:
    """Returns what sends requests with a secret: no redirect and, on this machine, no proxy.

    Example:
        >>> with opener("http://127.0.0.1:8080").open(os.environ["OPLEDGER_URL"] + "/health") as response:
        ...     response.status
        200
    """
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost" or host.endswith(".localhost")
    direct = [urllib.request.ProxyHandler({})] if local else []
    return urllib.request.build_opener(_NoRedirect, *direct)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would carry the token to another host."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def checked_url(what: str, url: str) -> str:
    """Returns an HTTP URL without slashes at its end. Raises ValueError, which begins with what.

    Example:
        >>> checked_url("OPLEDGER_URL", "http://127.0.0.1:8080/")
        'http://127.0.0.1:8080'
    """
    try:
        parts = urllib.parse.urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(
            f"{what} is {url!r}; begin it with http:// or https:// and a host, as in "
            "http://127.0.0.1:8080"
        )
    return url.rstrip("/")
