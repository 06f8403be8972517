"""Creates operations with google-genai: one request each, which returns Gemini's name."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator

import httpx
from google import genai
from google.genai import types

from opledger import AnsweredError, Mark, NotSentError, checked_url

if "GOOGLE_GEMINI_BASE_URL" in os.environ:  # here, before an intent is recorded
    checked_url("GOOGLE_GEMINI_BASE_URL", os.environ["GOOGLE_GEMINI_BASE_URL"])


@functools.cache
def client() -> genai.Client:
    # Gemini runs, and charges for, each creation that it gets, so none may be repeated. 0 and 1
    # do not do it in this version: with both, the creation of an interaction is repeated once.
    once = types.HttpRetryOptions(attempts=-1)
    options = types.HttpOptions(
        timeout=60_000,
        retry_options=once,
        client_args={"follow_redirects": False},  # another host would get the key
    )
    return genai.Client(api_key=os.environ["GEMINI_API_KEY"], http_options=options)


def upload(path: str) -> str:
    """Uploads a file of requests, and returns its name, such as files/abc."""
    config = types.UploadFileConfig(mime_type="application/jsonl")
    return client().files.upload(file=path, config=config).name or ""


@contextlib.contextmanager
def once() -> Iterator[None]:
    """Marks Gemini's answer, or that no connection was made. client repeats nothing before it."""
    try:
        yield
    except Exception as error:
        # The creation of an interaction has the error of httpx as its cause.
        for network in (error, error.__cause__):
            if isinstance(network, httpx.ConnectError):
                raise NotSentError(str(network)) from error
        # The creation of an interaction has status_code, the others code.
        status = getattr(error, "status_code", getattr(error, "code", None))
        if isinstance(status, int):
            raise AnsweredError(status, str(error)) from error
        raise


@once()
def batch(file: str, mark: Mark) -> str:
    """file was uploaded to Gemini, such as files/reviews."""
    created = client().batches.create(
        model="gemini-3.5-flash",
        src=file,
        config=types.CreateBatchJobConfig(
            display_name=mark.display_name("reviews"),
            webhook_config=types.WebhookConfig(user_metadata=mark.user_metadata()),
        ),
    )
    return created.name or ""


@once()
def video(prompt: str, mark: Mark) -> str:
    created = client().models.generate_videos(
        model="veo-3.1-generate-preview",
        source=types.GenerateVideosSource(prompt=prompt),
        config=types.GenerateVideosConfig(
            webhook_config=types.WebhookConfig(user_metadata=mark.user_metadata()),
        ),
    )
    return created.name or ""


@once()
def interaction(text: str, mark: Mark) -> str:
    created = client().interactions.create(
        model="gemini-3.5-flash",
        input=text,
        background=True,  # else there is no operation to track
        store=True,
        webhook_config={"user_metadata": mark.user_metadata()},
    )
    return f"interactions/{created.id}" if created.id else ""


CREATE = {"batch": batch, "video": video, "interaction": interaction}
