"""Signature matching, which the paper calls SigMatch."""

import pytest

from auditcoder.domain.contract import Contract, Param, sig_match, signature_faults


def contract(name: str, *params: str) -> Contract:
    return Contract(name=name, params=tuple(Param(name=p) for p in params))


@pytest.mark.parametrize(
    "source",
    [
        "def f(a, b): pass",
        "async def f(a, b): pass",
        "def f(a: int, b: str = 'x') -> None: pass",
        "def f(a, b, *, c=1, **d): pass",
        "def f(a, /, b): pass",
        "def f(self, a, b): pass",
        "class C:\n    def f(self, a, b): pass",
        "def g(): pass\ndef f(a, b): pass",
    ],
)
def test_code_with_the_declared_signature_matches(source: str) -> None:
    assert sig_match(contract("f", "a", "b"), source)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def f(a, b:", "does not parse"),
        ("def f(a, b): pass\x00", "does not parse"),
        ("def g(a, b): pass", "0 functions"),
        ("def f(a, b): pass\ndef f(a, b): pass", "2 functions"),
        ("def f(a, b):\n    def f(): pass", "2 functions"),
        ("f = lambda a, b: 0", "0 functions"),
        ("def f(b, a): pass", "parameters are (b, a)"),
        ("def f(a): pass", "parameters are (a)"),
        ("def f(a, b, c): pass", "parameters are (a, b, c)"),
        ("def f(a, *, b): pass", "parameters are (a)"),
        ("def f(this, a, b): pass", "parameters are (this, a, b)"),
    ],
)
def test_any_other_code_is_a_mismatch_with_a_reason(source: str, why: str) -> None:
    (fault,) = signature_faults(contract("f", "a", "b"), source)
    assert why in fault


def test_a_contract_may_declare_or_omit_self() -> None:
    assert sig_match(contract("f", "self", "a"), "def f(self, a): pass")
    assert sig_match(contract("f", "a"), "def f(self, a): pass")


def test_a_contract_without_a_name_matches_nothing() -> None:
    assert not sig_match(contract(""), "def f(): pass")


def test_code_that_breaks_the_parser_is_a_mismatch() -> None:
    assert not sig_match(contract("f"), "def f():\n    return " + "(" * 5000 + ")" * 5000)
