"""Splicing methods of a reference into a class changes the chosen methods only."""

import ast
import textwrap

from hypothesis import given
from hypothesis import strategies as st

from auditcoder_bench.faultbench.method_splicer import (
    called_alike,
    class_in,
    different,
    helpers_in,
    initial_attributes,
    methods_of,
    missing_imports,
    splice,
    with_imports,
)
from tests.support.faultbench import NO_IMPORT, OTHER_STATE, REFERENCE, WRONG_BOTH

BODIES = (
    "return self.x",
    "# a comment\nreturn [y for y in self.z]",
    'text = """two\n  lines"""\nreturn text',
    "def inner():\n    return 1\n\nreturn inner()",
    '"""What it does."""\nif self.x:\n    return 1\nreturn 2',
)
NAMES = ("alpha", "beta", "gamma", "delta")


@st.composite
def classes(draw: st.DrawFn, indent: str = "    ") -> str:
    """Generate a class with some methods, and code before and after it."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    parts = [draw(st.sampled_from(("", "import math\n", "# words\nX = 1\n"))), "class Thing:\n"]
    if draw(st.booleans()):
        parts.append(f'{indent}"""A thing."""\n\n')
    for name in names:
        mark = draw(st.sampled_from(("", "@staticmethod\n", "@property\n")))
        body = textwrap.indent(draw(st.sampled_from(BODIES)), indent)
        parts.append(textwrap.indent(f"{mark}def {name}(self):\n{body}\n", indent))
        parts.append(
            draw(st.sampled_from(("", "\n", f"{indent}# between\n\n", f"{indent}Y = 2\n")))
        )
    parts.append(draw(st.sampled_from(("", "\n\nprint(1)\n"))))
    return "".join(parts)


def names_in(code: str) -> list[str]:
    return list(methods_of(code, "Thing"))


def method_trees(code: str, name: str) -> list[str]:
    return [ast.dump(node) for node in methods_of(code, "Thing").get(name, [])]


class TestProperties:
    @given(classes())
    def test_splicing_a_class_with_itself_changes_nothing(self, code: str) -> None:
        assert splice(code, code, "Thing", names_in(code)) == code
        assert different(code, code, "Thing") == []

    @given(classes(), classes())
    def test_only_the_chosen_method_changes(self, code: str, reference: str) -> None:
        chosen, *_ = names_in(reference)
        spliced = splice(code, reference, "Thing", [chosen])
        assert method_trees(spliced, chosen) == method_trees(reference, chosen)
        for other in set(names_in(code)) - {chosen}:
            assert method_trees(spliced, other) == method_trees(code, other)
        assert set(names_in(spliced)) == {*names_in(code), chosen}

    @given(classes(), classes())
    def test_every_line_outside_the_chosen_method_stays(self, code: str, reference: str) -> None:
        chosen, *_ = names_in(reference)
        spliced = splice(code, reference, "Thing", [chosen]).splitlines()
        gone = {
            number
            for node in methods_of(code, "Thing").get(chosen, [])
            for number in range(
                min(node.lineno, *(d.lineno for d in [*node.decorator_list, node])),
                (node.end_lineno or 0) + 1,
            )
        }
        kept = [line for number, line in enumerate(code.splitlines(), 1) if number not in gone]
        rest = iter(spliced)
        assert all(line in rest for line in kept)

    @given(classes(), classes())
    def test_splicing_all_methods_leaves_no_difference_to_the_reference(
        self, code: str, reference: str
    ) -> None:
        spliced = splice(code, reference, "Thing", names_in(reference))
        assert different(spliced, reference, "Thing") == []

    @given(classes(indent="  "), classes())
    def test_the_indentation_of_the_class_does_not_matter(self, code: str, reference: str) -> None:
        spliced = splice(code, reference, "Thing", names_in(reference))
        assert set(names_in(spliced)) == {*names_in(code), *names_in(reference)}


class TestSplicing:
    def test_a_missing_method_is_appended_to_the_class(self) -> None:
        code = "class Tally:\n    def add(self):\n        pass\nprint(1)\n"
        spliced = splice(code, REFERENCE, "Tally", ["mean"])
        assert list(methods_of(spliced, "Tally")) == ["add", "mean"]
        assert spliced.endswith("print(1)\n")

    def test_a_duplicate_method_is_replaced_by_one(self) -> None:
        code = "class A:\n  def f(self):\n    1\n  x = 1\n  def f(self):\n    2\n"
        spliced = splice(code, "class A:\n    def f(self):\n        3\n", "A", ["f"])
        assert ast.unparse(ast.parse(spliced)) == (
            "class A:\n    x = 1\n\n    def f(self):\n        3"
        )

    def test_imports_that_the_method_needs_are_added(self) -> None:
        reference = (
            "import math\nimport re as r\nfrom os import path, sep\n"
            "class A:\n    def f(self):\n        return math.pi, path\n"
        )
        spliced = splice("class A:\n    pass\n", reference, "A", ["f"])
        assert spliced.startswith("import math\nfrom os import path\nclass A:")
        there = splice(
            f"import math\n{OTHER_STATE}", f"import math\n{REFERENCE}", "Tally", ["mean"]
        )
        assert there.count("import math") == 1

    def test_docstrings_are_not_compared(self) -> None:
        assert different(REFERENCE.replace("Take", "Put"), REFERENCE, "Tally") == []
        assert different(WRONG_BOTH, REFERENCE, "Tally") == ["add", "mean"]

    def test_a_class_on_one_line_can_receive_a_method(self) -> None:
        spliced = splice("class Tally: pass\nx = 1\n", REFERENCE, "Tally", ["add"])
        assert list(methods_of(spliced, "Tally")) == ["add"]
        assert spliced.endswith("x = 1\n")

    def test_methods_with_equal_signatures_are_found(self) -> None:
        code = REFERENCE.replace("def mean(self)", "def mean(self, most)")
        assert called_alike(code, REFERENCE, "Tally") == {"__init__", "add"}

    def test_code_that_does_not_parse_has_no_class(self) -> None:
        assert class_in("class A:\n  def", "A") is None
        assert class_in("class B: pass", "A") is None


class TestAnalysis:
    def test_missing_imports_are_found(self) -> None:
        assert missing_imports(NO_IMPORT) == ["import operator"]
        assert missing_imports("def f(re):\n    return re, np.sum(x)\n") == ["import numpy as np"]
        assert missing_imports("import re\nclass A:\n    def f(self):\n        return re") == []
        assert missing_imports("def f():\n    global re\n    re = 1\ndef g():\n    re") == []

    def test_imports_are_added_after_the_docstring_and_future_imports(self) -> None:
        code = '"""Words."""\nfrom __future__ import annotations\nx = 1\n'
        lines = with_imports(code, ["import re"]).splitlines()
        assert lines[1:3] == ["from __future__ import annotations", "import re"]
        assert with_imports("x = 1\n", ["import re"]) == "import re\nx = 1\n"

    def test_attributes_set_by_the_constructor_are_found(self) -> None:
        assert initial_attributes(OTHER_STATE, "Tally") == frozenset(("total", "count"))
        assert initial_attributes("class A:\n    pass", "A") is None

    def test_helpers_are_found_with_the_methods_that_reach_them(self) -> None:
        code = textwrap.dedent("""
            class A:
                def f(self): return self._one()
                def g(self): return self.f()
                def _one(self): return self._two()
                def _two(self): return 2
                def _never(self): return 3
        """)
        helpers = helpers_in(code, "A", ["f", "g", "h"])
        assert helpers == {"_one": ("f",), "_two": ("f",), "_never": ()}
