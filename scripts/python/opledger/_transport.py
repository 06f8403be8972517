"""Sends requests over HTTP, with the standard library alone."""

from __future__ import annotations

import ipaddress
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from typing import IO, Any, Union, cast

from ._errors import AccessError
from ._protocol import Reply, Send, Unreached

Token = Union[str, "os.PathLike[str]", Callable[[], str], None]

_PIECE = 1 << 16  # bytes of a download that are read at once


class Transport:
    """Sends requests to opledger, and with other secrets to Gemini and to Cloud Storage. Threads may share it."""

    def __init__(self, url: str, token: Token, gemini_key: str, google_token: Token) -> None:
        self._url = url
        self._token = token
        self._gemini_key = gemini_key
        self._google_token = google_token
        self._openers: dict[bool, urllib.request.OpenerDirector] = {}  # by whether the host is this machine

    def send(self, command: Send) -> Reply:
        """Returns the answer to a request.

        Raises Unreached, what writing the body raises, AccessError where a token is none, and where google-auth
        is not installed or has no credentials, its error.
        """
        url = self._url + command.url if command.url.startswith("/") else command.url
        request = urllib.request.Request(url, command.body, dict(command.headers), method=command.method)
        self._authorize(request, command.auth)
        try:
            opened = self._opener(url).open(request, timeout=command.timeout)
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, _lower(error.headers), _body(error))
        except urllib.error.URLError as error:
            raise Unreached(str(error.reason)) from error
        except (OSError, HTTPException, ValueError) as error:
            raise Unreached(str(error) or type(error).__name__) from error
        with cast(HTTPResponse, opened) as response:
            body = b""
            if command.into is None:
                body = _read(response, None)
            else:
                _copy(response, command.into)
            return Reply(response.status, _lower(response.headers), body)

    def _opener(self, url: str) -> urllib.request.OpenerDirector:
        """Returns the opener for a URL. From Python 3.12 on each that is made reads all certificates of the machine."""
        local = _is_local(url)
        if local not in self._openers:
            self._openers[local] = opener(url)
        return self._openers[local]

    def _authorize(self, request: urllib.request.Request, auth: str) -> None:
        if auth == "gemini":
            request.add_unredirected_header("x-goog-api-key", _sendable("the API key of Gemini", self._gemini_key))
            return
        if auth == "none":
            return
        try:
            text = _text_of(self._token if auth == "opledger" else self._google_token)
        except ImportError:
            raise
        except Exception as error:
            if any(kind.__name__ == "DefaultCredentialsError" for kind in type(error).__mro__):  # of google-auth
                raise
            raise Unreached(f"the token cannot be had: {error}") from error
        if text := _sendable("the token", text):
            request.add_unredirected_header("Authorization", f"Bearer {text}")


def _read(response: HTTPResponse, most: int | None) -> bytes:
    try:
        return response.read(most)
    except (OSError, HTTPException, ValueError) as error:
        raise Unreached(str(error) or type(error).__name__) from error


def _copy(response: HTTPResponse, into: IO[bytes]) -> None:
    while piece := _read(response, _PIECE):
        into.write(piece)
    if response.length:  # read with a size does not say that the connection broke off
        raise Unreached(f"it broke off, {response.length} bytes before its end")


def _sendable(what: str, secret: str) -> str:
    """Returns a secret without white space around it. An error never has it in its text."""
    bare = secret.strip()
    if not bare.isascii() or not bare.isprintable() or " " in bare:
        raise AccessError(
            f"{what} has a line break, or another character that no such secret has", remedy="give it as it was issued",
        )
    return bare


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
        google.auth.exceptions.DefaultCredentialsError: There are no credentials of Google.

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
    direct = [urllib.request.ProxyHandler({})] if _is_local(url) else []
    return urllib.request.build_opener(_NoRedirect, *direct)


def _is_local(url: str) -> bool:
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


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
