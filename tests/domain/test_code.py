"""Code bundles: the units that a bundle registers and the parts that it is made of."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.assembly import placed
from auditcoder.domain.code import NodeCode, UnitKind, read_bundle, units_of
from auditcoder.domain.ids import NodeId
from auditcoder.domain.values import digest

S1 = NodeId("S1")


def registered(source: str, scope: str = "", taken: frozenset[str] = frozenset()) -> dict[str, str]:
    return {u.name: u.registered for u in units_of(read_bundle(source), S1, scope, taken)}


class TestUnits:
    def test_functions_classes_methods_and_constants_are_units(self) -> None:
        source = (
            "import math\nLIMIT = 3\n\n@cache\ndef f(): pass\n\nclass C:\n    def m(self): pass\n"
        )
        kinds = {u.name: (u.kind, u.first, u.last) for u in units_of(read_bundle(source), S1)}
        assert kinds == {
            "LIMIT": (UnitKind.CONSTANT, 2, 2),
            "f": (UnitKind.FUNCTION, 3, 5),
            "C": (UnitKind.CLASS, 6, 8),
            "C.m": (UnitKind.METHOD, 8, 8),
        }

    def test_in_a_class_every_function_is_a_method(self) -> None:
        assert registered("def m(self): pass\n", scope="C") == {"m": "C.m"}

    @pytest.mark.parametrize(
        "source",
        [
            "if True:\n    from operator import neg as m\n",
            "y = 1; from operator import neg as m\n",
            "from operator import pos as m\nfrom operator import neg as m\n",
            "try:\n    import json as m\nexcept ImportError:\n    m = None\n",
        ],
    )
    def test_in_a_class_an_import_that_stays_in_the_bundle_is_a_member(self, source: str) -> None:
        assert registered(source, scope="C")["m"] == "C.m"

    def test_in_a_class_an_import_that_is_lifted_out_is_no_member(self) -> None:
        assert registered("import math\n\ndef m(self): pass\n", scope="C") == {"m": "C.m"}

    def test_outside_a_class_an_import_is_no_unit(self) -> None:
        assert registered("if True:\n    import json\n\ndef f(): pass\n") == {"f": "f"}

    @pytest.mark.parametrize(
        ("source", "scope", "units"),
        [
            ("class A:\n    def __p(self): pass\n", "", {"A": "A", "A.__p": "A._A__p"}),
            ("def __p(self): pass\n", "C", {"__p": "C._C__p"}),
            ("if True:\n    import json as __p\n", "C", {"__p": "C._C__p"}),
            ("class A:\n    global __x\n", "", {"A": "A", "_A__x": "_A__x"}),
            ("def m(self):\n    global __x\n", "C", {"m": "C.m", "global __x": "_C__x"}),
        ],
    )
    def test_a_private_name_in_a_class_is_registered_as_python_calls_it(
        self, source: str, scope: str, units: dict[str, str]
    ) -> None:
        assert registered(source, scope) == units

    def test_a_taken_name_is_registered_with_the_node(self) -> None:
        assert registered("def f(): pass\n", taken=frozenset({"f"})) == {"f": "f__S1"}

    def test_an_underscore_gets_a_name_that_classes_do_not_mangle(self) -> None:
        source = "_ = str.upper\n\nclass K:\n    def m(self): return _('a')\n"
        units = units_of(read_bundle(source), S1, "", frozenset({"_"}))
        assert {u.name: u.registered for u in units}["_"] == "_S1"
        code = NodeCode(digest=digest(b""), units=units, written=1)
        space: dict[str, type] = {}
        exec("\n".join(placed(read_bundle(source), code)), space)
        assert space["K"]().m() == "A"

    @pytest.mark.parametrize(
        "source",
        [
            "for i in range(3): pass\n",
            "with open('x') as handle: pass\n",
            "if True:\n    def hidden(): pass\n",
            "try:\n    import json\nexcept ImportError:\n    json = None\n",
            "(n := 10)\n",
            "while False: x = 1\n",
            "match 1:\n    case bound: pass\n",
            "def f():\n    global hidden\n    hidden = 1\nf()\n",
            "class C:\n    global hidden\n    hidden = 1\n",
        ],
    )
    def test_whatever_binds_a_name_at_top_level_registers_it(self, source: str) -> None:
        tree = compile(source, "bundle", "exec")
        space: dict[str, object] = {}
        with contextlib.suppress(OSError):
            exec(tree, space)
        bound = set(space) - {"__builtins__"}
        assert bound <= set(registered(source))

    @pytest.mark.parametrize(
        "source",
        ["def f(:\n", "x = 1\x00", "(" * 3000, "def f():\r    pass\r", "\ud800", "type X = int\n"],
    )
    def test_code_that_does_not_parse_is_one_part_without_units(self, source: str) -> None:
        bundle = read_bundle(source)
        assert not bundle.parses
        assert len(bundle.parts) == 1
        assert units_of(bundle, S1) == ()

    @given(st.text(alphabet="defclass x=1():\n\t#'\"\\ ,@;", max_size=60))
    def test_parts_tile_every_bundle(self, source: str) -> None:
        bundle = read_bundle(source)
        lines = [line for part in bundle.parts for line in range(part.first, part.last + 1)]
        assert lines == list(range(1, len(bundle.lines) + 1))


def test_the_words_of_a_bundle_are_those_that_the_parser_reads() -> None:
    words = read_bundle("\uff50ow = {}\n# sum\n").words
    assert {"pow", "sum"} <= words
