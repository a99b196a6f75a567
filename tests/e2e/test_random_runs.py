"""Records of random runs verify, are the same in every store, and show every alteration."""

from collections import Counter
from pathlib import Path
from typing import get_args

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from auditcoder.adapters.stores.bundle import BundleFile, write_bundle
from auditcoder.adapters.stores.postgres import PostgresStore
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY, Head
from auditcoder.domain.code import read_bundle
from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import CheckRan, Event, Located, RunFinished
from auditcoder.domain.evidence import CheckKind, Evidence, Verdict
from auditcoder.domain.laws import advance, open_doubts
from auditcoder.domain.laws.verdict_laws import OVER_INPUTS, PARSED_KINDS
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.targets import AtProgram
from auditcoder.domain.trace import fold
from auditcoder.domain.values import digest
from auditcoder.domain.verification import verify
from auditcoder.exports.repair_log import repair_log
from auditcoder.exports.responsibility_record import FIELDS, responsibility_records
from auditcoder.lifecycle.export_import import ImportResult, copy_run, verify_run
from tests.support.campaigns import RANDOM_RUNS, sized
from tests.support.random_runs import RandomRun
from tests.support.record_builders import RUN
from tests.support.records import Raw, deletions, edits, insertions, swaps, take

SETTINGS = settings(
    stateful_step_count=45,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@sized("examples", RANDOM_RUNS)
def test_every_random_run_verifies_and_folds_to_the_state_of_its_writer(examples: int) -> None:
    seen: set[str] = set()

    class Verified(RandomRun):
        def teardown(self) -> None:
            report = verify_run(self.store, RUN)
            assert report.holds, report.findings
            assert report.head == self.recorder.head.digest
            assert report.finished == self.ledger.finished
            trace = fold(self.store.read(RUN), self.store.blob)
            assert trace.working == self.ledger.working
            assert len(trace.history) == self.ledger.transactions
            seen.update(type(event).__name__ for event in take(self.store, RUN).events())
            seen.update(t.decision.value for t in trace.history if t.decision)
            seen.update(t.kind.value for t in trace.history)
            super().teardown()

    run_state_machine_as_test(Verified, settings=settings(SETTINGS, max_examples=3 * examples))
    everything = {kind.__name__ for kind in get_args(Event)}
    if examples == RANDOM_RUNS.whole:
        assert seen >= everything | {"accepted", "rejected", "bounded", "fallback"}


def could_have_failed(evidence: Evidence) -> bool:
    """Whether the record shows an execution that passed and could have failed."""
    if isinstance(evidence.subject, AtProgram):
        return evidence.exit_code == 0
    if evidence.kind in PARSED_KINDS:
        return True  # recomputed from the code
    if evidence.kind in OVER_INPUTS and not evidence.tried:
        return False
    opinion = evidence.kind is CheckKind.REVIEW or not evidence.kind.judges
    return bool(evidence.judge) and (opinion or evidence.exit_code == 0)


@sized("examples", RANDOM_RUNS)
def test_only_what_could_have_ended_otherwise_counts_for_or_against_anybody(examples: int) -> None:
    counted: Counter[str] = Counter()

    class Founded(RandomRun):
        def teardown(self) -> None:
            ledger, diagnosed = Ledger(), list[Localised]()
            evidence: dict[int, Evidence] = {}
            for seq, event in enumerate(take(self.store, RUN).events()):
                before, ledger = ledger, advance(ledger, event, self.store.blob)
                standing = ledger.working.evidence
                unknown = {c for c, s in standing.items() if not s.verdict.conclusive}
                match event:
                    case CheckRan(evidence=seen):
                        evidence[seq] = seen
                        counted[seen.verdict.value] += 1
                        assert seen.verdict is not Verdict.PASSED or could_have_failed(seen)
                        pinned = ledger.program_checks()
                        if not seen.verdict.conclusive:
                            ranks = (w.rank(pinned) for w in (before.working, ledger.working))
                            assert len(set(ranks)) == 1
                    case Located(diagnosis=Localised() as diagnosis):
                        diagnosed.append(diagnosis)
                    case RunFinished(doubts=doubts):
                        assert not unknown & set(doubts)
                    case _:
                        pass
                assert not unknown & set(open_doubts(ledger))
            for diagnosis in diagnosed:
                cited = [evidence[seq] for seq in diagnosis.evidence]
                assert any(e.verdict.failing and e.kind.judges for e in cited)
            super().teardown()

    run_state_machine_as_test(Founded, settings=settings(SETTINGS, max_examples=3 * examples))
    if examples == RANDOM_RUNS.whole:
        assert set(counted) == {verdict.value for verdict in Verdict}


@sized("examples", RANDOM_RUNS)
def test_every_line_of_a_folded_program_has_an_owner(examples: int) -> None:
    """Every line of the program has one owner that was committed before it was written."""

    class Owned(RandomRun):
        def teardown(self) -> None:
            trace = fold(self.store.read(RUN), self.store.blob)
            for node, code in trace.working.code.items():
                assert trace.committed[node].seq < code.written
            if trace.working.assembly:
                program = self.store.blob(trace.working.assembly.program).decode()
                segments = trace.working.assembly.segments
                assert sum(s.lines for s in segments) == len(program.splitlines())
                names = {u for part in read_bundle(program).parts if part.kind for u in part.names}
                owners = trace.working.owners()
                assert names == set(owners), "the ownership map is total over the program"
                compile(program, "program", "exec")
            for record in responsibility_records(trace, self.store.blob)["nodes"]:
                assert tuple(record) == FIELDS
            log = repair_log(trace, self.store.blob)
            assert log["denominators"]["repair_cases"] == len(trace.diagnoses)
            super().teardown()

    run_state_machine_as_test(Owned, settings=settings(SETTINGS, max_examples=examples))


@sized("examples", RANDOM_RUNS)
def test_a_record_is_the_same_in_every_store(
    examples: int, tmp_path: Path, postgres_url: str
) -> None:
    class Travelled(RandomRun):
        def teardown(self) -> None:
            here = take(self.store, RUN)
            trace = fold(self.store.read(RUN), self.store.blob)
            first, second = tmp_path / "first.acb", tmp_path / "second.acb"
            write_bundle(self.store, RUN, first)
            bundle = BundleFile(first)
            sqlite = SqliteStore(":memory:")
            assert copy_run(bundle, RUN, sqlite) is ImportResult.COPIED
            postgres = PostgresStore(postgres_url)
            postgres._db.execute("DROP SCHEMA auditcoder CASCADE")
            postgres.close()
            postgres = PostgresStore(postgres_url)
            assert copy_run(sqlite, RUN, postgres) is ImportResult.COPIED
            write_bundle(postgres, RUN, second)
            assert second.read_bytes() == first.read_bytes()
            for place in (bundle, sqlite, postgres):
                assert take(place, RUN) == here
                assert fold(place.read(RUN), place.blob) == trace
                assert verify_run(place, RUN).holds
            for opened in (bundle, sqlite, postgres):
                opened.close()
            super().teardown()

    run_state_machine_as_test(Travelled, settings=settings(SETTINGS, max_examples=examples))


@sized("examples", RANDOM_RUNS)
def test_every_alteration_of_an_event_is_found(examples: int) -> None:
    class Altered(RandomRun):
        def teardown(self) -> None:
            raw = take(self.store, RUN)
            n = len(raw.bodies)
            reach = n if n <= 40 else 3
            for altered in deletions(raw.bodies):
                assert is_found(raw, altered), "a deletion"
            for altered in swaps(raw.bodies, reach):
                assert is_found(raw, altered), "a swap"
            for altered in edits(raw.bodies, salt=n):
                assert is_found(raw, altered), "an edit"
            for altered in insertions(raw):
                assert is_found(raw, altered), "an insertion"
            super().teardown()

    run_state_machine_as_test(Altered, settings=settings(SETTINGS, max_examples=examples))


def is_found(raw: Raw, altered: list[bytes]) -> bool:
    """Whether verification finds an alteration; one flipped bit can make the format a later one."""
    try:
        return not raw.verify(altered).holds
    except RecordUnreadable as error:
        return error.code == "record.newer-format"


@sized("examples", RANDOM_RUNS)
def test_every_flipped_bit_of_a_blob_is_found(examples: int) -> None:
    class Flipped(RandomRun):
        def teardown(self) -> None:
            raw = take(self.store, RUN)
            small = sorted(raw.blobs.items(), key=lambda item: len(item[1]))
            for name, content in small[:1]:
                for bit in range(len(content) * 8):
                    flipped = bytearray(content)
                    flipped[bit // 8] ^= 1 << bit % 8
                    held = raw.blobs | {name: bytes(flipped)}
                    report = verify(raw.bodies, held.__getitem__, claimed=raw.head)
                    assert "blob.mismatch" in {f.code for f in report.findings}
            super().teardown()

    run_state_machine_as_test(Flipped, settings=settings(SETTINGS, max_examples=examples))


@sized("examples", RANDOM_RUNS)
def test_a_known_head_is_found_in_every_later_record_and_in_no_other(examples: int) -> None:
    class Grown(RandomRun):
        def teardown(self) -> None:
            raw = take(self.store, RUN)
            head = EMPTY
            for number, body in enumerate(raw.bodies):
                head = Head(entries=number + 1, digest=digest(body))
                report = verify(raw.bodies, raw.blob, expected=head.digest)
                assert report.holds
                assert report.known_head == number
            stranger = verify(raw.bodies, raw.blob, expected=digest(b"another history"))
            assert [f.code for f in stranger.findings] == ["head.unknown"]
            super().teardown()

    run_state_machine_as_test(Grown, settings=settings(SETTINGS, max_examples=examples))
