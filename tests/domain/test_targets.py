"""Targets: what evidence can be about, and what a diagnosis can name."""

import msgspec
import pytest

from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import (
    AtBranch,
    AtInterface,
    AtNode,
    AtNodes,
    AtProgram,
    Subject,
    Target,
)
from auditcoder.domain.values import encode

S1, S2 = NodeId("S1"), NodeId("S2")


@pytest.mark.parametrize(
    ("subject", "tag"),
    [(AtNode(node=S1), "node"), (AtBranch(root=S1), "branch"), (AtProgram(), "program")],
)
def test_a_subject_is_read_back_by_its_tag(subject: Subject, tag: str) -> None:
    written = encode(subject)
    assert msgspec.json.decode(written)["type"] == tag
    assert msgspec.json.decode(written, type=Subject) == subject


@pytest.mark.parametrize(
    ("target", "tag"),
    [
        (AtNode(node=S1), "node"),
        (AtNodes(nodes=(S1, S2)), "nodes"),
        (AtBranch(root=S1), "branch"),
        (AtInterface(provider=S1, consumer=S2), "interface"),
    ],
)
def test_a_target_is_read_back_by_its_tag(target: Target, tag: str) -> None:
    written = encode(target)
    assert msgspec.json.decode(written)["type"] == tag
    assert msgspec.json.decode(written, type=Target) == target


def test_a_diagnosis_cannot_name_the_whole_program() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(encode(AtProgram()), type=Target)


def test_a_check_cannot_be_about_an_interface() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(encode(AtInterface(provider=S1, consumer=S2)), type=Subject)
