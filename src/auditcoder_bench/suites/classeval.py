"""ClassEval: implement a class with interdependent methods from its skeleton."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from auditcoder.domain.execution import Bounds
from auditcoder.domain.values import Digest
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder_bench.problem import CodeTests, Problem
from auditcoder_bench.suites.suite import DataFile, Suite

PACKAGES = (
    *("numpy", "pandas", "openpyxl", "docx", "PyPDF2", "nltk", "gensim", "PIL", "bs4", "lxml"),
    "reportlab",
)
"""Packages that the reference solutions import."""

TEN = ("0", "10", "20", "31", "40", "50", "60", "70", "80", "90")
"""The first problem of each ten that needs no packages, fixed before the first run."""

_TYPOS = (
    ("'''\n", ""),
    ("“”“", '"""'),
    ("”“”", '"""'),
    ('["CS101", "CS102"]\n\n', '["CS101", "CS102"]\n        """\n\n'),
)
"""Typing errors that make four skeletons invalid Python, and their corrections."""

_DATA = "classeval/ClassEval_data.json"
_BOUNDS = Bounds(seconds=30.0, memory_bytes=4 << 30)


def _read(files: Mapping[str, Path]) -> list[Problem]:
    return [_problem(row) for row in json.loads(files[_DATA].read_text(encoding="utf-8"))]


def _problem(row: dict[str, Any]) -> Problem:
    task = make_task(
        f"{row['class_description']}\n\n```python\n{_skeleton(row['skeleton'])}\n```",
        TaskOptions(form="class", entry=row["class_name"], source=row["task_id"]),
    )
    imports = "\n".join(row["import_statement"])
    return Problem(
        row["task_id"].removeprefix("ClassEval_"),
        task,
        CodeTests(code=row["test"]),
        bounds=_BOUNDS,
        reference=f"{imports}\n{row['solution_code']}\n",
    )


def _skeleton(text: str) -> str:
    for typo, correction in _TYPOS:
        text = text.replace(typo, correction)
    return text.removesuffix("'''")


SUITE = Suite(
    name="classeval",
    title="ClassEval",
    licence="code MIT, data CC BY-NC 4.0 (Fudan SELab)",
    sources=(
        DataFile(
            path=_DATA,
            url="https://raw.githubusercontent.com/FudanSELab/ClassEval/"
            "eaeac44d0d5dcd8a95feec50726d66fedc73a98f/data/ClassEval_data.json",
            sha256=Digest("50a1ac0e4d0c238573c10c0ab11feae00b14a80ae9e4c9cc28148707ecf0b6a2"),
        ),
    ),
    read=_read,
    ids=TEN,
    unusable={
        "17": "its tests expect a date in the past to be in the future",
        "48": "its tests expect the host name of the authors' machine",
        "51": "its tests depend on rounding that differs between library versions",
        "52": "its tests need NLTK data that must be downloaded",
    },
    packages=PACKAGES,
    extra="classeval",
)
