"""What a receiver of effects has accepted, by idempotency key: a repeat changes nothing."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Generator, Mapping
from typing import Any


class Inbox:
    """A table in a file of SQLite. Threads and processes may share it.

    Args:
        path: The file. It is created where it is not there.

    Raises:
        sqlite3.Error: The file cannot be opened or written.

    Example:
        >>> inbox = Inbox("inbox.db")
        >>> inbox.accept("gemini:batches/abc#publish", {"state": "SUCCEEDED"})
        True
        >>> inbox.accept("gemini:batches/abc#publish", {"state": "SUCCEEDED"})
        False
    """

    def __init__(self, path: str) -> None:
        self._path = path
        with self.transaction() as db:
            db.execute("CREATE TABLE IF NOT EXISTS completions (key TEXT PRIMARY KEY, body TEXT)")

    def accept(self, key: str, body: Mapping[str, Any], db: sqlite3.Connection | None = None) -> bool:
        """Stores a completion.

        Args:
            key: The idempotency key.
            body: The payload.
            db: A transaction of this inbox. What else a completion changes in it is changed once,
                wherever the process dies. A system outside is given the key, to refuse a repeat.

        Returns:
            False where it is a repeat.

        Example:
            >>> inbox = Inbox("orders.db")
            >>> with inbox.transaction() as db:
            ...     if inbox.accept("gemini:batches/abc#ship", {}, db):
            ...         _ = db.execute("CREATE TABLE orders (id TEXT)")
        """
        if db is None:
            with self.transaction() as own:
                return self.accept(key, body, own)
        inserted = db.execute("INSERT OR IGNORE INTO completions VALUES (?, ?)", (key, json.dumps(body)))
        return inserted.rowcount == 1

    @contextlib.contextmanager
    def transaction(self) -> Generator[sqlite3.Connection, None, None]:
        """Returns a connection whose changes are committed together, or none of them after an error."""
        with contextlib.closing(sqlite3.connect(self._path)) as db, db:
            yield db
