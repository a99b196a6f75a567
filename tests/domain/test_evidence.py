"""Evidence: verdicts, kinds of checks, and the blobs that evidence names."""

from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.targets import AtProgram
from auditcoder.domain.values import CheckId, digest


def test_a_verdict_is_clean_if_the_program_ended_by_itself() -> None:
    assert {v for v in Verdict if v.clean} == {Verdict.PASSED, Verdict.FAILED}


def test_clues_and_swaps_do_not_judge_their_subject() -> None:
    assert {k for k in CheckKind if not k.judges} == {CheckKind.CLUE, CheckKind.SWAP}


def test_trust_falls_from_given_to_generated() -> None:
    assert list(Trust) == [Trust.GIVEN, Trust.DERIVED, Trust.STATED, Trust.GENERATED]


def evidence(**blobs: object) -> Evidence:
    """Return evidence of a passed check with some blobs set."""
    return Evidence(
        check=CheckId("c"),
        kind=CheckKind.EXAMPLE,
        subject=AtProgram(),
        trust=Trust.GIVEN,
        verdict=Verdict.PASSED,
        against=digest(b"program"),
        **blobs,  # type: ignore[arg-type]
    )


def test_evidence_names_every_blob_it_keeps() -> None:
    names = {f: digest(f.encode()) for f in ("input", "expected", "observed", "errors")}
    assert set(evidence(**names).blobs()) == set(names.values())


def test_evidence_without_blobs_names_none() -> None:
    assert evidence().blobs() == ()


def test_the_checked_code_is_not_a_blob_of_the_evidence() -> None:
    kept = digest(b"out")
    assert evidence(observed=kept).blobs() == (kept,)
