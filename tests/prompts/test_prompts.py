"""Prompts are files with strict variables; what is put in is data."""

import re
from pathlib import Path

import pytest

from auditcoder import prompts
from auditcoder.domain.graph import NodeKind
from auditcoder.domain.request import Speaker
from auditcoder.prompts import SHARED, advice, digests, load, roles

ROLES = [role for role in roles() if role not in SHARED]
SOURCE = Path(prompts.__file__).parent


@pytest.mark.parametrize("role", ROLES)
def test_every_prompt_can_be_filled(role: str) -> None:
    prompt = load(role)
    names = set(re.findall(r"\{\{(\w+)\}\}", prompt.user))
    system, user = prompt.fill(**dict.fromkeys(names, "something"))
    assert (system.speaker, user.speaker) == (Speaker.SYSTEM, Speaker.USER)
    assert "{{" not in system.text + user.text


@pytest.mark.parametrize("role", ROLES)
def test_what_most_requests_share_comes_first(role: str) -> None:
    assert load(role).user.startswith("# Task\n{{statement}}")


def test_roles_that_work_together_share_their_beginning() -> None:
    sketching = [role for role in ROLES if "{{handbook}}" in _text(role)]
    writing = [role for role in ROLES if "{{coder}}" in _text(role)]
    planning = [role for role in ROLES if role not in {*sketching, *writing}]
    assert len(planning) == 8
    for together in (sketching, writing, planning):
        assert len({load(role).system for role in together}) == 1


def test_a_missing_variable_is_an_error() -> None:
    with pytest.raises(KeyError, match="statement"):
        load("joint").fill(sketch="x", functions="f", advice="")


def test_a_variable_that_nobody_asked_for_is_an_error() -> None:
    with pytest.raises(KeyError, match="extra"):
        load("joint").fill(statement="x", sketch="x", functions="f", advice="", extra="y")


def test_what_is_put_in_is_not_searched_for_variables() -> None:
    _, user = load("joint").fill(
        statement="say {{sketch}}", sketch="SECRET", functions="f", advice=""
    )
    assert "say {{sketch}}" in user.text
    assert user.text.count("SECRET") == 1


def test_only_who_sketches_is_told_how() -> None:
    """A thousand tokens on sketches are nothing to who looks at one function, or at a class."""
    sketching = {role for role in ROLES if "{{handbook}}" in _text(role)}
    assert sketching == {"sketch", "redo", "replan_branch", "joint", "node"}


def test_the_digest_names_the_text_and_the_shared_one_it_holds() -> None:
    known = digests()
    assert set(ROLES) <= set(known)
    assert load("joint").digest != known["joint"], "the handbook is part of it"
    assert load("sole").digest != known["sole"], "so is what coders are told"
    assert load("parser").digest == known["parser"]


@pytest.mark.parametrize("kind", [k for k in NodeKind if k is not NodeKind.ORCHESTRATION])
def test_every_kind_has_its_specialist(kind: NodeKind) -> None:
    assert advice(kind.value).startswith("Advice")


def _text(role: str) -> str:
    return (SOURCE / f"{role}.md").read_text("utf-8")
