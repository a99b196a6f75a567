"""Prompts are files with strict variables; inserted text is data."""

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
def test_every_prompt_starts_with_the_task_statement(role: str) -> None:
    assert load(role).user.startswith("# Task\n{{statement}}")


def test_roles_of_one_group_share_their_system_prompt() -> None:
    sketching = [role for role in ROLES if "{{handbook}}" in _text(role)]
    writing = [role for role in ROLES if "{{coder}}" in _text(role)]
    testing = ["edge_cases"]
    whole = ["draft", "draft_reasoned", "repair_whole"]
    planning = [role for role in ROLES if role not in {*sketching, *writing, *testing, *whole}]
    assert len(planning) == 8
    for group in (sketching, writing, planning, whole):
        assert len({load(role).system for role in group}) == 1


def test_a_missing_variable_is_an_error() -> None:
    with pytest.raises(KeyError, match="statement"):
        load("joint").fill(sketch="x", functions="f", plan="", advice="")


def test_an_unknown_variable_is_an_error() -> None:
    with pytest.raises(KeyError, match="extra"):
        load("joint").fill(statement="x", sketch="x", functions="f", plan="", advice="", extra="y")


def test_inserted_text_is_not_searched_for_variables() -> None:
    _, user = load("joint").fill(
        statement="say {{sketch}}", sketch="SECRET", functions="f", plan="", advice=""
    )
    assert "say {{sketch}}" in user.text
    assert user.text.count("SECRET") == 1


def test_only_roles_that_use_sketches_include_the_handbook() -> None:
    """Its thousand tokens are of no use to roles that write code."""
    sketching = {role for role in ROLES if "{{handbook}}" in _text(role)}
    assert sketching == {"sketch", "redo", "replan_branch"}


def test_the_digest_of_a_prompt_covers_its_shared_text() -> None:
    known = digests()
    assert set(ROLES) <= set(known)
    assert load("joint").digest != known["joint"], "the introduction is part of it"
    assert load("sole").digest != known["sole"], "the coder prompts include it"
    assert load("parser").digest == known["parser"]


@pytest.mark.parametrize("kind", [k for k in NodeKind if k is not NodeKind.ORCHESTRATION])
def test_every_kind_has_specialist_advice(kind: NodeKind) -> None:
    assert advice(kind.value).startswith("Advice")


def _text(role: str) -> str:
    return (SOURCE / f"{role}.md").read_text("utf-8")
