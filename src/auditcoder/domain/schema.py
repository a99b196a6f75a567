"""The published shape of a record: JSON Schema, generated from the types themselves."""

from typing import Any

import msgspec

from auditcoder.domain.chain import FORMAT, Entry


def entry_schema() -> dict[str, Any]:
    """Return the JSON Schema of one entry."""
    (reference,), components = msgspec.json.schema_components([Entry])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"AuditCoder trace entry, format {FORMAT}",
        **reference,
        "$defs": dict(sorted(components.items())),
    }
