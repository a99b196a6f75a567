"""Diagnoses: a boundary that the evidence supports, or an abstention."""

import msgspec
import pytest

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level, Localised
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtInterface
from auditcoder.domain.values import encode

LOCALISED = Localised(
    target=AtInterface(provider=NodeId("S1"), consumer=NodeId("S2")),
    agents=("math", "dp"),
    rule="R1",
    level=Level.HIGH,
    evidence=(3, 5),
    probability=0.75,
)


@pytest.mark.parametrize(
    ("diagnosis", "tag"),
    [(LOCALISED, "localised"), (Abstained(reason="no evidence", flaky=True), "abstained")],
)
def test_a_diagnosis_is_read_back_by_its_tag(diagnosis: Diagnosis, tag: str) -> None:
    written = encode(diagnosis)
    assert msgspec.json.decode(written)["type"] == tag
    assert msgspec.json.decode(written, type=Diagnosis) == diagnosis


def test_an_abstention_names_no_target() -> None:
    assert "target" not in Abstained.__struct_fields__


@pytest.mark.parametrize("field", ["target", "rule", "level", "evidence"])
def test_a_localisation_without_its_grounds_is_refused(field: str) -> None:
    plain = msgspec.to_builtins(LOCALISED)
    del plain[field]
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(plain, Localised)


def test_confidence_has_three_levels() -> None:
    assert [level.value for level in Level] == ["high", "medium", "low"]
