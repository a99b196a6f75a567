"""Code objects belong to the functions that contain them."""

from auditcoder.sandboxed.code_owners import owners

SOURCE = "def f():\n    return lambda: 1\nclass C:\n    def m(self):\n        def inner(): pass\n"


def test_functions_are_found_by_their_qualified_name() -> None:
    code = compile(SOURCE, "program.py", "exec")
    found = owners(code, lambda name: name if name in {"f", "C.m"} else None)
    assert sorted(found.values()) == ["C.m", "f"]


def test_nested_code_may_have_the_owner_of_its_function() -> None:
    code = compile(SOURCE, "program.py", "exec")
    found = owners(code, lambda name: "m" if name.startswith("C.m") else None)
    assert sorted(part.co_name for part in found) == ["inner", "m"]
