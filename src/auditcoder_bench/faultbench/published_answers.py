"""Reads the tasks of ClassEval and the published answers of models to them."""

import ast
import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from auditcoder.domain.errors import DataUnavailable
from auditcoder.domain.python_names import parse
from auditcoder.domain.values import Digest
from auditcoder_bench.faultbench.method_splicer import methods_of
from auditcoder_bench.suites.suite import DataFile

_BASE_URL = (
    "https://raw.githubusercontent.com/FudanSELab/ClassEval/"
    "eaeac44d0d5dcd8a95feec50726d66fedc73a98f/output/model_output_v1.0.0"
)
_FOLDER = "classeval/model_output"
_DIGESTS = {
    "CodeLlama-13b-Instruct-hf": {
        "class_H": "87c8c55b796d75a781c89d44d028870009db29991b9f7b6faf690a1dc76acb10",
    },
    "GPT-3.5-Turbo": {
        "class_H": "43866521c4a1d9222bb112ce33bb8d6cec8189beb351d9158ce5339550e81593",
        "method_C": "6bb25a7f939a8a5b5bddf5a89a37bb4d26417efaa49ab6ddd3be388dc6d1922c",
        "method_I": "da117113ea61b3c0a35807f863f9922c1afe23cbd2f294e2909cbab07242a34b",
    },
    "GPT-4-Turbo": {
        "class_H": "b9ad65c884a5097d59f565ca487c8a31e1f30c49867a8bee287740e7728b8c02",
        "method_C": "00e1eec40fa36033792d1e16c8528494038cbd1048ab39bc543e31196a3be806",
        "method_I": "c3168181bb2ef83a60674ef9e81e12cd5f44503a1837dffd2bb28d57d59a12a0",
    },
    "Gemini-Pro": {
        "class_H": "cc7cbe0389d3a7ce92f2bf86cbfadf7de42914d54e8379ff095ef7c97e408604",
        "method_C": "578acf131518a6ac4147743596e75455fecbc8ffe54248efa50784b47e758016",
        "method_I": "fee68cbca4a21b2dab7379fff74a950d47dee566046c9ac79ad9bee7404d25b4",
    },
    "Magicoder-S-DS-6.7B": {
        "class_H": "a3ae8cc13e0dca597b31755d04f98967344fd8751de379272d8c03f51fd7e0e0",
        "method_C": "9cd6d8aa5d658c9d32916496df8e6954d0690b4138aed460fb1f67dbb15267b0",
    },
    "PolyCoder-2.7B": {
        "class_H": "08650cc0df818bad338aa2e7bf5e498b23a116f6c09fbf45ee497ca05e46b807",
    },
    "WizardCoder-15B-V1.0": {
        "class_H": "a1edab39d129c260bb1237ed0af0ebf3affbbd462dcd3f3b9b95f1c0d327a67a",
        "method_C": "51057859f23bc360429b9cc29801bae41b998a2eecd9c072c3c1e2c9fda4f110",
        "method_I": "43740d719523b4083b0e5a498037a44b2e9617173645f2198410fc79fbabb622",
    },
    "codegeex2-6b": {
        "class_H": "023ef8409d2ddd41bd33118a283ed849ec55f12f364efa2aeceff2870720ec18",
    },
    "deepseek-coder-6.7b-instruct": {
        "class_H": "62d01afa416329a00d658bf80adc2ca3d5a8f24eb38b36da58e3692ae8d231ba",
        "method_C": "74294f89b61eb6d5ecf10da6e9511c8cbaa3fc1f4666f5bfd0d262d83f1a1041",
        "method_I": "dac6dfa398b75f05b306dba6e658adc99cc08927a1ba8ef35815327edf53662c",
    },
    "instruct-codegen-16B": {
        "class_H": "c268eecbbcf083d1c03f0183ec6d832114e05ae0e8560dc01e6b08dff4517f5a",
        "method_C": "1b212a7d456913396ab1216fcce48f674c053f4363930cbd19d633bb9fecaaea",
        "method_I": "6aa93bb341888ae0cac2487d8e6ff958b4e0b259d15b3e4a693a0bb7288583c8",
    },
    "santacoder-1.1B": {
        "class_H": "a5c89b35c9f0448e62da54539804171ece5a4fdffc9fe8365a0f263b3dbb4df9",
    },
    "starcoder-instruct-15B": {
        "class_H": "0740903b9cf3b1209f919342aac57137563cee877a21b85943d0c862e50199bc",
        "method_C": "3951187a27c9d1a9a9cb444668adabeaa5e5b75db798e6508a7c882cdb7028c9",
    },
}
"""SHA-256 digests of the files with one answer per task, by model and mode."""

_ANSWER_MARKERS = ("### Response:", "@@ Response:", "[/INST]")
_FENCES = (
    *(("```python", "```"), ("```ruby", "```"), ("```scss", "```"), ("```", "```")),
    ("[PYTHON]", "[/PYTHON]"),
)
"""Delimiters of code in an answer, in the order of search; some models use unusual ones."""


class PublishedModel(NamedTuple):
    """The file with the answers of one model in one prompting mode."""

    model: str
    mode: str
    source: DataFile


def _published(model: str, mode: str, sha256: str) -> PublishedModel:
    name = f"{model}_{mode}_greedy.json"
    source = DataFile(
        path=f"{_FOLDER}/{name}",
        url=f"{_BASE_URL}/{name}",
        sha256=Digest(sha256),
        instead=(f"{_FOLDER}/{name}.gz",),
    )
    return PublishedModel(model, mode, source)


PUBLISHED = tuple(
    _published(model, mode, sha256)
    for model, modes in _DIGESTS.items()
    for mode, sha256 in modes.items()
)


class Subject(NamedTuple):
    """A task of ClassEval: the required class and its tests."""

    task_id: str
    class_name: str
    skeleton: str
    imports: str
    reference: str
    """The correct class with its imports."""
    tests: str
    """Test code, appended to the class."""
    unit_tests: Mapping[str, str | None]
    """The reference's methods, each with the test class for it alone."""
    integration_class: str | None
    cases: tuple[tuple[str, str], ...]
    """All tests as pairs of class and name, in order."""


def read_subjects(path: Path) -> list[Subject]:
    """Read the tasks from ClassEval's data file."""
    return [subject_of(row) for row in json.loads(path.read_text(encoding="utf-8"))]


def subject_of(row: dict[str, Any]) -> Subject:
    """Read one task; test classes that its data does not assign are matched by name."""
    imports = "\n".join(row["import_statement"])
    reference = f"{imports}\n{row['solution_code']}\n"
    test_classes = [name.strip() for name in row["test_classes"]]
    assigned = {info["method_name"]: info["test_class"].strip() for info in row["methods_info"]}
    unassigned = [name for name in test_classes if name not in assigned.values()]
    unit_tests: dict[str, str | None] = {}
    for method in methods_of(reference, row["class_name"]):
        unit_tests[method] = assigned.get(method) or _named_for(method, unassigned)
    shared = [name for name in unassigned if name not in unit_tests.values()]
    return Subject(
        task_id=row["task_id"],
        class_name=row["class_name"],
        skeleton=row["skeleton"],
        imports=imports,
        reference=reference,
        tests=row["test"],
        unit_tests=unit_tests,
        # If there are several, the last one tests the class as a whole.
        integration_class=shared[-1] if shared else None,
        cases=_cases(row["test"]),
    )


def _named_for(method: str, test_classes: list[str]) -> str | None:
    """Return the test class whose name matches a method; None if there is none."""
    camel = "".join(part.capitalize() for part in method.strip("_").split("_"))
    return next((name for name in test_classes if name.endswith(f"Test{camel}")), None)


def _cases(tests: str) -> tuple[tuple[str, str], ...]:
    cases = {
        (test_class.name, node.name): None
        for test_class in parse(tests).body
        if isinstance(test_class, ast.ClassDef)
        for node in test_class.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    }
    return tuple(cases)


def read_answers(path: Path) -> dict[str, str]:
    """Read one model's answers, by task."""
    try:
        content = path.read_bytes()
        rows = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
        return {row["task_id"]: row["predict"][0] for row in rows}
    except (OSError, EOFError, ValueError, LookupError, TypeError) as error:
        raise DataUnavailable(
            "faults.answers",
            f"{path} does not contain a model's answers: {error!r}",
            "delete it, and it will be downloaded again",
        ) from error


def class_code(answer: str, imports: str) -> str:
    """Return the code in an answer, extracted exactly as ClassEval's own scoring does."""
    return f"{imports}\n{_marked_static(_code_in(answer.rstrip()))}"


def _code_in(text: str) -> str:
    for mark in _ANSWER_MARKERS:
        if mark in text:
            text = text.split(mark)[1]
            break
    for begin, end in _FENCES:
        if begin in text:
            return text.split(begin, 1)[1].split(end, 1)[0]
    return _unindented(_without_preamble(text))


def _without_preamble(text: str) -> str:
    """Remove the text before the class, and later lines that are equal to a removed one.

    This may remove empty lines, as upstream does; line numbers in tracebacks depend on it.
    """
    lines = text.split("\n")
    before = []
    for line in lines:
        if line.strip().startswith("class"):
            break
        before.append(line)
    removed = {line for line in before if not line.strip().startswith(("import", "from"))}
    return "\n".join(line for line in lines if line not in removed)


def _unindented(text: str) -> str:
    """Remove the indentation of an indented class and its body."""
    lines = text.split("\n")
    depth = next((_depth(line) for line in lines if line.strip().startswith("class")), 0)
    if not depth:
        return text
    return "\n".join(" " * max(0, _depth(line) - depth) + line.lstrip() for line in lines)


def _marked_static(code: str) -> str:
    """Decorate methods without `self` or `cls` as static, as ClassEval's scoring does."""
    marked = []
    for line in code.split("\n"):
        is_method = line.strip().startswith("def ") and _depth(line) == 4
        if is_method and not re.search("self|cls", line):
            marked.append("    @staticmethod")
        if "@staticmethod" not in line:
            marked.append(line)
    return "\n".join(marked)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
