"""What a receiver of effects has accepted, by idempotency key: a repeat changes nothing."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any


class Inbox:
    """A table in a file. Threads and processes may share it."""

    def __init__(self, path: str) -> None:
        self._path = path
        with self._transaction() as db:
            db.execute("CREATE TABLE IF NOT EXISTS completions (key TEXT PRIMARY KEY, body TEXT)")

    def accept(self, key: str, body: Mapping[str, Any]) -> bool:
        """Stores a completion; False where it is a repeat.

        What else a completion changes in a database belongs in this transaction: it is changed
        once, wherever the process dies. A system without one is given the key, to refuse a repeat.
        """
        with self._transaction() as db:
            row = (key, json.dumps(body))
            inserted = db.execute("INSERT OR IGNORE INTO completions VALUES (?, ?)", row)
            return inserted.rowcount == 1

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self._path)) as db, db:
            yield db
