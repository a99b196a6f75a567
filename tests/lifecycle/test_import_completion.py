"""Imports that code forgot are added, and star imports are written out."""

import pytest

from auditcoder.domain.ids import NodeId
from auditcoder.lifecycle.import_completion import completing, imports_by_name, without_stars


@pytest.mark.parametrize(
    ("source", "added"),
    [
        ("def f(x):\n    return math.sqrt(x)\n", ["import math"]),
        ("def f(x):\n    return sqrt(x)\n", ["from math import sqrt"]),
        (
            "def f(x):\n    return Counter(re.findall('a', x))\n",
            ["from collections import Counter", "import re"],
        ),
        ("import math\ndef f(x):\n    return math.sqrt(x)\n", []),
        ("def f(math):\n    return math.sqrt(1)\n", []),
        ("def f(x):\n    math = x\n    return math.sqrt(1)\n", []),
        ("def sqrt(x):\n    return x\ndef f(x):\n    return sqrt(x)\n", []),
        ("def f(x):\n    return numpy.sum(x)\n", []),
        ("def f(x:\n", []),
    ],
)
def test_forgotten_imports_of_the_standard_library_are_found(source: str, added: list[str]) -> None:
    assert completing(source, set()) == added


def test_a_name_that_is_bound_elsewhere_is_not_imported() -> None:
    assert completing("def f(x):\n    return deque(x)\n", {"deque"}) == []


@pytest.mark.parametrize(
    ("present", "added"),
    [
        ({}, ["from collections.abc import Iterable"]),
        ({"Iterable": "from typing import Iterable"}, ["from typing import Iterable"]),
        ({"Iterable": "from own import Iterable"}, []),
    ],
)
def test_an_import_of_another_part_is_preferred_to_a_guess(
    present: dict[str, str], added: list[str]
) -> None:
    assert completing("def f(x: Iterable[int]):\n    return x\n", set(), present) == added


def test_a_module_is_imported_as_another_part_does() -> None:
    source = "def f():\n    return datetime.now()\n"
    assert completing(source, set(), {"datetime": "from datetime import datetime"}) == []
    assert completing(source, set(), {"datetime": "import datetime"}) == ["import datetime"]


def test_the_imports_of_other_nodes_are_found_by_name() -> None:
    code = {NodeId("S0"): "import os.path\n", NodeId("S1"): "from math import gcd as g\n"}
    assert imports_by_name(code, {NodeId("S2")}) == {
        "os": "import os",
        "g": "from math import gcd as g",
    }
    assert "g" not in imports_by_name(code, {NodeId("S1")})


def test_a_star_import_is_replaced_by_the_names_that_are_used() -> None:
    source, note = without_stars("from math import *\n\ndef f(x):\n    return sqrt(floor(x))\n")
    assert source.startswith("from math import floor, sqrt\n")
    assert note == "`from math import *` is written out"


def test_an_unused_star_import_becomes_a_pass_statement() -> None:
    assert without_stars("from math import *; x = 1\n")[0] == "pass; x = 1\n"


def test_several_star_imports_are_named_in_their_order() -> None:
    _, note = without_stars("from math import *\nfrom heapq import *\nheappush([], pi)\n")
    assert note == "`from math import *` is written out; `from heapq import *` is written out"


@pytest.mark.parametrize("source", ["from numpy import *\n", "from .math import *\n", "def f(:\n"])
def test_other_code_stays_as_it_is(source: str) -> None:
    assert without_stars(source) == (source, "")
