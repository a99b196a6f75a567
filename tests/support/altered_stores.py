"""Changes a SQLite store behind its triggers, like somebody with write access to the file."""

import sqlite3
from contextlib import closing
from pathlib import Path


def alter(path: Path, statement: str) -> None:
    """Execute a statement that the triggers would refuse, and leave the triggers as they were."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        definitions = triggers.fetchall()
        for name, _ in definitions:
            db.execute(f"DROP TRIGGER {name}")
        db.execute(statement)
        for _, definition in definitions:
            db.execute(definition)
