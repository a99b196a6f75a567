"""Encodes a run as a job for the worker: what the supervisor reads, and what the candidate gets."""

import base64
import json
import marshal
from functools import lru_cache
from typing import Any

from auditcoder.adapters.sandboxes.outcome_reader import seal_of
from auditcoder.domain.errors import SandboxError
from auditcoder.domain.execution import (
    TESTS_FILE,
    Action,
    CallFunction,
    Execution,
    Ownership,
    RunFiles,
    RunProgram,
    RunTests,
)
from auditcoder.domain.python_names import PARSE_ERRORS, compiled, parsed
from auditcoder.domain.values import whole
from auditcoder.sandboxed.code_checks import Imports, has_assertion_or_call, imports_of

_LONG_TESTS = 2_000
"""Characters from which test code is compiled once and reused."""


def encoded_job(execution: Execution, proof: str) -> bytes:
    """Write one line for the supervisor and one that it forwards to the candidate unread."""
    bounds = execution.bounds
    both = {
        "seconds": bounds.seconds,
        "memory": bounds.memory_bytes,
        "files": bounds.file_bytes,
        "watch": execution.watch,
    }
    fields = {"stdin": "", "inputs": {}, "artefacts": (), **_action_fields(execution.action)}
    outside = {name: fields.pop(name) for name in ("stdin", "inputs", "artefacts")}
    sealed = {"seal": seal_of(proof), "proof": proof}
    inside = {
        "source": execution.source,
        "arguments": (),
        "owned": execution.owned and _owned_fields(execution.owned),
        "trace": execution.trace,
        **sealed,
        **fields,
    }
    # JSON escapes lone surrogates, so they arrive unchanged.
    return f"{json.dumps(both | outside)}\n{json.dumps(both | inside)}".encode()


def _owned_fields(owned: Ownership) -> dict[str, Any]:
    units = [(u.name, u.owner, u.plain, u.defaults, u.wrappers, u.defined) for u in owned.units]
    return {"lines": owned.lines, "units": units, "definitions": owned.definitions}


def _action_fields(action: Action) -> dict[str, Any]:
    match action:
        case RunProgram():
            return {
                "kind": "program",
                "stdin": _stdin(action.stdin),
                "arguments": [_argument(text) for text in action.arguments],
            }
        case CallFunction():
            return {"kind": "calls", "calls": action.calls}
        case RunTests():
            code = action.code
            ready, imports = _compiled_tests(code), _imports(code)
            return {"kind": "tests", "tests": code, "ready": ready, "imports": imports}
        case RunFiles():
            return {
                "kind": "files",
                "stdin": _stdin(action.stdin),
                "arguments": [_argument(text) for text in action.arguments],
                "inputs": _inputs(action.inputs),
                "artefacts": [_checked_name(name) for name in action.artefacts],
            }


@lru_cache(maxsize=64)
def _compiled_tests(code: str) -> str:
    """Compile long test code once for all programs that it is run on."""
    if len(code) < _LONG_TESTS:
        return ""
    tree = parsed(code)
    if tree is None or not has_assertion_or_call(tree.body):
        return ""  # the run itself will report it
    try:
        return base64.b64encode(marshal.dumps(compiled(tree, TESTS_FILE))).decode()
    except PARSE_ERRORS:
        return ""


@lru_cache(maxsize=64)
def _imports(code: str) -> Imports | None:
    """Find out what tests import, once for all programs that they are run on."""
    tree = parsed(code)
    return imports_of(tree) if tree else None  # the run itself will report it


def _stdin(text: str) -> str:
    """Encode text; bytes that were decoded with surrogates are restored, lone ones replaced."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
    return base64.b64encode(raw).decode()


def _argument(text: str) -> str:
    return whole(text).replace("\0", "?")


def _inputs(given: dict[str, bytes]) -> dict[str, str]:
    folders_used = {
        "/".join(parts[:depth])
        for parts in (name.split("/") for name in given)
        for depth in range(1, len(parts))
    }
    if both := sorted(folders_used & given.keys()):
        raise SandboxError(
            "sandbox.file-name",
            f"{both[0]!r} cannot be a file and a folder",
            "give every file of a task a name that is not also a folder",
        )
    return {
        _checked_name(name): base64.b64encode(content).decode() for name, content in given.items()
    }


def _checked_name(name: str) -> str:
    try:
        raw = b"" if "\0" in name else name.encode()
    except UnicodeEncodeError:  # lone surrogates
        raw = b""
    parts = raw.split(b"/")
    if any(part in {b"", b".", b".."} or len(part) > 255 for part in parts) or len(raw) > 2000:
        raise SandboxError(
            "sandbox.file-name",
            f"{name!r} is not a valid file name in the program's folder",
            "give a relative path without `..`",
        )
    return name
