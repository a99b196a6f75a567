"""Replies of the kind that strong models write, and what becomes of them in a run.

Each file of `tests/data/replies` is a task with the replies to its prompts. A run plays them
through planning, building and repair with the real sandbox.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from auditcoder.domain.events import CodeWritten
from auditcoder.domain.python_names import BUILTINS, PARSE_ERRORS, Function, parse
from auditcoder.domain.reply_code import code_in_json
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    Form,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.values import encode
from auditcoder.lifecycle.module_statements import binds, is_harmless
from auditcoder.lifecycle.options import Build, Options
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.response_formats import blocks
from tests.support.scripted_runs import FinishedRun, run
from tests.support.sketched_runs import sketching

FOLDER = Path(__file__).parents[1] / "data" / "replies"
PLANS = frozenset({"sketch", "replan_branch", "redo"})
_UNSPOKEN = re.compile(r"(?:kind|uses|examples?|parts)\s*:|>>>|cost: O\([^)]*\)$", re.IGNORECASE)
"""Lines of a docstring that the graph holds in another form than text."""


class Case(NamedTuple):
    """A task with the replies to its prompts."""

    name: str
    task: Task
    replies: dict[str, str | list[str]]
    options: Options
    features: tuple[str, ...]
    losses: tuple[str, ...]
    """What may be left out, as it must be noted."""

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Every reply, with the name of its prompt."""
        return [
            (prompt, text)
            for prompt, said in self.replies.items()
            for text in ([said] if isinstance(said, str) else said)
        ]


class Outcome(NamedTuple):
    """What became of the replies of one case."""

    finished: FinishedRun
    kept: tuple[str, ...]
    """Names that the nodes own, as the replies have them."""
    renamed: tuple[str, ...]
    noted: tuple[str, ...]
    refused: tuple[str, ...]
    """Why replies were refused."""
    silent: tuple[str, ...]
    """What is in a reply and neither in the record's graph, brief or code nor noted as lost."""


@cache
def cases() -> tuple[Case, ...]:
    """Return every case of the corpus."""
    return tuple(_case(path) for path in sorted(FOLDER.glob("*.toml")))


def _case(path: Path) -> Case:
    fields = tomllib.loads(path.read_text("utf-8"))
    return Case(
        path.stem,
        Task(
            title=fields["title"],
            statement=fields["statement"].strip("\n") + "\n",
            form=_form(fields),
            examples=tuple(map(_example, fields["examples"])),
        ),
        fields["replies"],
        sketching(build=Build(fields.get("build", "joint"))),
        tuple(fields["features"]),
        tuple(fields.get("losses", ())),
    )


def _form(fields: dict[str, Any]) -> Form:
    match fields["form"]:
        case "program":
            return ProgramForm()
        case "function":
            return FunctionForm(entry=fields["entry"], signature=fields["signature"])
        case form:
            assert form == "class"
            return ClassForm(name=fields["name"], skeleton=fields["statement"].strip("\n") + "\n")


def _example(fields: dict[str, str]) -> Example:
    if "input" in fields:
        return StdioExample(input=fields["input"], output=fields["output"])
    if "arguments" in fields:
        return CallExample(arguments=fields["arguments"], result=fields["result"])
    return CodeExample(code=fields["code"].strip("\n") + "\n")


def play(sandbox: Sandbox, case: Case) -> Outcome:
    """Run a case and see what became of its replies."""
    finished = run(sandbox, case.task, dict(case.replies), case.options)
    written = finished.all(CodeWritten)
    units = [unit for event in written for unit in event.units]
    noted = tuple(text for _, text in finished.solution.trace.losses)
    return Outcome(
        finished,
        kept=tuple(dict.fromkeys(u.name for u in units)),
        renamed=tuple(dict.fromkeys(u.name for u in units if "__S" in u.registered)),
        noted=noted,
        refused=tuple(finished.rejected),
        silent=tuple(_silent(case, finished, {u.name for u in units}, noted)),
    )


def _silent(
    case: Case, finished: FinishedRun, owned: set[str], noted: tuple[str, ...]
) -> Iterator[str]:
    graph = encode([finished.committed.graph, finished.solution.trace.working.brief]).decode()
    program = "\n".join(finished.text_of(e.code) for e in finished.all(CodeWritten))
    planned = _plain("\n".join([graph, *noted, program]))
    for prompt, text in case.texts:
        for code in _codes(text):
            module = parse(code)
            for name in _names(module):
                told = any(re.search(rf"\b{re.escape(name)}\b", note) for note in noted)
                if name not in owned and name not in planned and not told:
                    yield f"{prompt}: the name {name}"
            if prompt in PLANS:
                for line in _said(code):
                    if _plain(line) not in planned:
                        yield f"{prompt}: {line}"


def _codes(text: str) -> list[str]:
    fenced = [code for language, code in blocks(text) if language in {"", "py", "python"}]
    found = fenced or list(code_in_json(text)) or [text]
    return [code for code in found if _parses(code)]


def _parses(code: str) -> bool:
    try:
        parse(code)
    except PARSE_ERRORS:
        return False
    return True


def _names(module: ast.Module) -> Iterator[str]:
    """Yield the names that a module binds, and those of the methods in its classes."""
    for statement in module.body:
        if isinstance(statement, ast.Import | ast.ImportFrom) or is_harmless(statement):
            continue
        yield from binds(statement) - BUILTINS
        if isinstance(statement, ast.ClassDef):
            yield from (n.name for n in statement.body if isinstance(n, Function))


def _said(code: str) -> Iterator[str]:
    """Yield what the docstrings of a sketch say, line by line as they are written."""
    module = parse(code)
    for node in (module, *(n for n in module.body if isinstance(n, Function))):
        if ast.get_docstring(node) is None:
            continue
        written = ast.get_source_segment(code, node.body[0]) or ""
        lines = written.lstrip("rR").strip('"').split("\n")
        for number, line in enumerate(lines):
            is_result = number > 0 and ">>>" in lines[number - 1]
            if line.strip() and not _UNSPOKEN.match(line.strip()) and not is_result:
                yield re.sub(r"^\s*(?:[-*]\s+)?[\w ]+:\s+", "", line)


def _plain(text: str) -> str:
    return re.sub(r"[\s\\\"]+", "", text.replace("\\n", ""))
