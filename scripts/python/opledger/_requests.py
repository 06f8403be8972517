"""Requests of a job: lines of JSON, also from what google-genai takes."""

from __future__ import annotations

import base64
import codecs
import enum
import hashlib
import json
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union, cast

from ._model import fields

Object = Mapping[str, Any]
# A line {"key": …, "request": {…}}, or a key with what google-genai takes as contents, as in a row of a CSV.
Request = Union[Object, "tuple[str, Any]", "list[Any]"]

_LISTED = 20  # wrong lines of a file that an error lists
_BESIDE = {  # settings of google-genai's flat config that are beside generationConfig
    "systemInstruction", "tools", "toolConfig", "safetySettings", "cachedContent", "serviceTier",
}
_SDK = {"httpOptions", "shouldReturnHttpResponse", "automaticFunctionCalling"}  # of the SDK, not of Gemini
_VERTEX = {"labels", "routingConfig", "modelSelectionConfig", "audioTimestamp", "modelArmorConfig"}  # not of Gemini
_CONTENT = {"parts", "role"}


def request(key: str, contents: object, config: object = None) -> dict[str, Any]:
    """Returns a line of a job, of what google-genai's generate_content takes.

    Args:
        key: The key of the request, by which its result is told from others.
        contents: A text, a content, a part, or a list of them, as google-genai's types or as dicts.
        config: google-genai's GenerateContentConfig, or a dict with its fields.

    Raises:
        ValueError: Something cannot be sent in a file, such as a Python function as a tool.

    Example:
        >>> line = request("a", "Is it good?", {"temperature": 0, "system_instruction": "Say yes or no."})
        >>> line["request"]["contents"]
        [{'role': 'user', 'parts': [{'text': 'Is it good?'}]}]
        >>> line["request"]["generationConfig"]
        {'temperature': 0}
        >>> line["request"]["systemInstruction"]
        {'parts': [{'text': 'Say yes or no.'}]}
    """
    body: dict[str, Any] = {"contents": _contents(contents)}
    _add_config(body, config)
    return {"key": key, "request": body}


def line_of(given: Request, config: object = None) -> bytes:
    """Returns a request as a canonical line. Raises ValueError."""
    row: Any = given
    if not isinstance(row, (Mapping, tuple, list)):
        # a row of an array of numpy, or what _plain knows
        row = row.tolist() if hasattr(row, "tolist") else _plain(row)
    if isinstance(row, Mapping):
        line = dict(cast(Object, row))
        if _is_model(line.get("request")):  # google-genai's InlinedRequest, whose model and metadata a file has not
            line["request"] = {k: v for k, v in _given(line["request"]).items() if k in ("contents", "config")}
        if (body := fields(line.get("request"))) and ("config" in body or _is_flat(body.get("contents"))):
            # as google-genai's inline requests are written
            of = {"contents": _contents(body.get("contents"))}
            _add_config(of, body.get("config"))
            line["request"] = {**{k: v for k, v in body.items() if k not in ("contents", "config")}, **of}
        if config is not None and (own := fields(line.get("request"))):
            shared: dict[str, Any] = {}
            _add_config(shared, config)
            line["request"] = _under(shared, own)
    else:
        pair = cast("list[Any]", row) if isinstance(row, (tuple, list)) else []
        if len(pair) != 2:
            raise ValueError(f"{given!r} is neither a line with key and request, nor a pair of a key and contents")
        line = request(str(pair[0]), pair[1], config)
    first = {name: line.pop(name) for name in ("key", "request") if name in line}
    try:
        text = json.dumps({**first, **line}, ensure_ascii=False, separators=(",", ":"), allow_nan=False,
                          default=_jsonable)
        return text.encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise ValueError(f"the request {first.get('key')!r} cannot be JSON: {error}") from error


def _under(shared: Object, own: Object) -> dict[str, Any]:
    """Returns a request with the settings of all requests, where it has none of its own."""
    body = {**shared, **own}
    if "generationConfig" in shared:
        body["generationConfig"] = {**shared["generationConfig"], **own.get("generationConfig", {})}
    return body


def _is_flat(contents: object) -> bool:
    """Whether contents are not a list of contents, as Gemini takes them."""
    if not isinstance(contents, (list, tuple)):
        return contents is not None
    return any(not isinstance(c, Mapping) or "parts" not in c for c in cast("list[object]", contents))


def _contents(given: object) -> list[dict[str, Any]]:
    """Returns contents as google-genai makes them: what stands alone is of the user, parts in a row are one."""
    if given is None:
        raise ValueError("a request has no contents")
    items = list(cast("list[object]", given)) if isinstance(given, (list, tuple)) else [given]
    contents: list[dict[str, Any]] = []
    row: list[Any] = []
    for item in items:
        plain: object = _plain(item)
        if _CONTENT & set(fields(plain)):
            if row:
                contents.append({"role": "user", "parts": row})
                row = []
            contents.append({"role": "user", **fields(plain)})
        elif isinstance(plain, list):
            contents.append({"role": "user", "parts": [_part(part) for part in cast("list[object]", plain)]})
        else:
            row.append(_part(plain))
    if row:
        contents.append({"role": "user", "parts": row})
    for content in contents:
        parts: object = content.get("parts")
        several = cast("list[object]", parts) if isinstance(parts, list) else [parts]
        content["parts"] = [_part(part) for part in several]
    return contents


def _part(given: object) -> Any:
    plain: object = _plain(given)
    if isinstance(plain, str):
        return {"text": plain}
    part = fields(plain)
    if "uri" in part and "mimeType" in part:  # a file that was uploaded
        return {"fileData": {"fileUri": part["uri"], "mimeType": part["mimeType"]}}
    if part:
        return part
    raise ValueError(f"{given!r} is not a part: give a text, or google-genai's Part or File")


def _add_config(body: dict[str, Any], config: object) -> None:
    """Adds google-genai's flat config to a request, where Gemini has each setting."""
    if config is None:
        return
    if not isinstance(config, Mapping) and not _is_model(config):
        raise ValueError(f"config is {config!r}: give google-genai's GenerateContentConfig or a dict")
    generation: dict[str, Any] = {}
    for name, value in _given(config).items():
        name = _camel(name)
        if value is None or name in _SDK:
            continue
        if name in _VERTEX:
            raise ValueError(f"config has {name}, which Vertex AI has and the Gemini API has not")
        if name == "systemInstruction":
            parts = _contents(value)
            body[name] = {"parts": [part for content in parts for part in content["parts"]]}
        elif name == "tools":
            if any(callable(tool) for tool in value):
                raise ValueError("a tool is a Python function, which a batch cannot call: give a FunctionDeclaration")
            body[name] = [_plain(tool) for tool in value]
        elif name in _BESIDE:
            body[name] = _plain(value)
        elif name == "generationConfig":
            generation.update(value)
        elif name == "responseSchema" and isinstance(value, enum.EnumMeta):
            members = cast("type[enum.Enum]", value)
            generation[name] = {"type": "STRING", "enum": [member.value for member in members]}
        elif name in ("responseSchema", "responseJsonSchema") and _is_type(value):
            generation["responseJsonSchema"] = _schema(value)
        elif name == "speechConfig" and isinstance(value, str):
            generation[name] = {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": value}}}
        else:
            generation[name] = _plain(value)
    if generation:
        body["generationConfig"] = {**generation, **body.get("generationConfig", {})}


def _schema(model: Any) -> Any:
    """Returns the JSON schema of a class of Pydantic, or of a type of such, such as list[Recipe]."""
    schema: Callable[[], Any] | None = getattr(model, "model_json_schema", None)
    if schema is not None and isinstance(model, type):
        return schema()
    try:
        pydantic: Any = __import__("pydantic")
        return pydantic.TypeAdapter(model).json_schema()
    except Exception as error:
        why = "it needs Pydantic 2" if isinstance(error, (ImportError, AttributeError)) else str(error)
        raise ValueError(
            f"response_schema is {model!r}: give a class of Pydantic, a list of one, or a schema as a dict ({why})"
        ) from error


def _is_type(value: object) -> bool:
    return isinstance(value, type) or typing.get_origin(value) is not None


def _is_model(value: object) -> bool:
    """Whether a value is one of Pydantic's models, as all of google-genai's are."""
    return hasattr(value, "model_dump") and not isinstance(value, type)


def _given(value: Any) -> dict[str, Any]:
    """Returns the fields of a dict or a model, their values as they are: a model with a class or a function in it
    cannot be dumped."""
    return {name: field for name, field in dict(value).items() if field is not None}


def _plain(value: Any) -> Any:
    """Returns a value of google-genai, which are Pydantic's models, or of numpy, as JSON has it."""
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if _is_model(value):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if item := getattr(value, "item", None):  # a number of numpy, as in a row of a DataFrame
        return item()
    return value


def _jsonable(value: Any) -> Any:
    plain = _plain(value)
    if plain is value:
        raise TypeError(f"{value!r} is of {type(value).__name__}, which JSON has not")
    return plain


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def check_requests(path: str) -> int:
    """Checks a file of requests, one {"key":…,"request":{…}} a line, and returns how many it has.

    Upload it, and submit the batch with the file. Requests inside a batch have results without
    their keys, and not always in order.

    Raises:
        ValueError: Lines are wrong. It lists them.

    Example:
        >>> with open("reviews.jsonl", "w") as file:
        ...     _ = file.write('{"key": "a", "request": {"contents": []}}')
        >>> check_requests("reviews.jsonl")
        1
    """
    lines: dict[bytes, int] = {}  # of each key, whose digest takes less memory
    wrong: list[str] = []
    count = 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            key, problems = _read_request(line, number)
            digest = hashlib.sha256(key.encode(errors="surrogatepass")).digest()[:16]
            if key and (first := lines.setdefault(digest, number)) != number:
                problems.append(f"its key {key!r} is that of line {first}")
            if problems:
                count += 1
                if count <= _LISTED:
                    wrong.append(f"line {number}: {', and '.join(problems)}")
    if count > _LISTED:
        wrong.append(f"and {count - _LISTED} more")
    if wrong:
        of = "1 line is wrong" if count == 1 else f"{count} lines are wrong"
        raise ValueError("\n  ".join([f"{path}: {of}", *wrong]))
    if not lines:
        raise ValueError(f"{path} has no requests")
    return len(lines)


def _read_request(line: bytes, number: int) -> tuple[str, list[str]]:
    """Returns the key of a line of requests, or "", and what is wrong with it."""
    problems: list[str] = []
    if number == 1 and line.startswith(codecs.BOM_UTF8):
        line = line[len(codecs.BOM_UTF8):]
        problems.append("it begins with a byte order mark; save the file as UTF-8 without one")
    try:
        given: object = json.loads(line.decode(), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return "", [*problems, f"it is not JSON: {error.msg} at column {error.colno}"]
    except (ValueError, RecursionError) as error:
        return "", [*problems, f"it is not JSON: {error}"]
    if not isinstance(given, dict):
        return "", [*problems, 'it is not {"key":…,"request":{…}}']
    read = cast("dict[str, object]", given)
    key, body = read.get("key"), read.get("request")
    if isinstance(key, (int, float)) and not isinstance(key, bool):
        problems.append(f'its key {key} is a number; write "{key}"')
    elif not isinstance(key, str) or not key:
        problems.append("it has no key, a text by which its result is told from others")
    if not isinstance(body, dict) or not body:
        problems.append('it has no request, as in "request":{"contents":[…]}')
    return key if isinstance(key, str) else "", problems


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def lines_of(requests: Iterable[Request], config: object) -> bytes:
    """Returns requests as canonical lines. Raises ValueError."""
    return b"".join(line_of(given, config) for given in requests)
