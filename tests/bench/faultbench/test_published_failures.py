"""`faults build` as a user meets it, on invented answers; and on real ones, where they are."""

import os
from pathlib import Path

import pytest

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder_bench.faultbench import published_dataset
from auditcoder_bench.faultbench.failure_records import FaultRecord
from auditcoder_bench.faultbench.line_file import read_lines
from auditcoder_bench.faultbench.published_answers import read_subjects
from auditcoder_bench.faultbench.published_failures import (
    LEFT_OUT,
    PublishedAnswer,
    check_reference,
    examine,
)
from auditcoder_bench.suites import suite
from tests.support.commands import RunCommand, command_runner
from tests.support.faultbench import build, publish_invented_answers

DATA = Path(os.environ.get("AUDITCODER_DATA", "/nowhere"))
FINISHED = DATA / "faultbench" / "faultbench_dev.jsonl.gz"
with_data = pytest.mark.skipif(not DATA.is_dir(), reason="AUDITCODER_DATA names no folder")


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> RunCommand:
    publish_invented_answers(monkeypatch, tmp_path)
    return command_runner(capsys, monkeypatch)


def refuse(*_: object) -> None:
    raise AssertionError("nothing is left to be done")


class TestBuild:
    def test_failures_are_written_in_order(self, run: RunCommand) -> None:
        found = build(run, "--jobs", "2")
        assert found["outcomes"] == {"fails": 2, "passes": 1, "unusable": 1}
        first, second = read_lines(Path("out.jsonl"), FaultRecord)
        assert (first.id, second.id) == (
            "careless|class_H|ClassEval_7",
            "hopeless|class_H|ClassEval_7",
        )
        assert first.ground_truth.nodes == ("mean",)
        assert second.ground_truth.nodes == ("add", "mean")

    def test_what_is_done_is_not_done_again(
        self, run: RunCommand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = build(run)
        before = Path("out.jsonl").read_bytes()
        for name in ("examine", "check_reference"):
            monkeypatch.setattr(published_dataset, name, refuse)
        assert build(run) == found
        assert Path("out.jsonl").read_bytes() == before

    def test_a_build_that_was_cut_off_goes_on(self, run: RunCommand) -> None:
        build(run)
        whole, done = Path("out.jsonl"), Path("out.jsonl.done")
        before = whole.read_bytes()
        whole.write_bytes(before[: before.index(b"\n") + 50])
        lines = done.read_bytes().splitlines(keepends=True)
        done.write_bytes(b"".join(lines[:-1]) + lines[-1][:5])
        build(run)
        assert whole.read_bytes() == before

    def test_models_are_added_to_what_is_there(self, run: RunCommand) -> None:
        assert build(run, "--models", "hopeless,good")["models"] == {"hopeless": 1}
        assert build(run)["models"] == {"careless": 1, "hopeless": 1}
        assert len(read_lines(Path("out.jsonl"), FaultRecord)) == 2

    def test_what_is_of_no_use_is_said(self, run: RunCommand) -> None:
        said = run("faults", "build", "out.jsonl", "--data", "data")
        assert "2 failures, 1 classes that pass, 1 unusable answers" in said.out
        assert "17 was left out: its tests expect a date" in said.err
        assert "4/4 answers" in said.err


class TestMistakes:
    def test_an_unknown_model_is_answered_with_the_known(self, run: RunCommand) -> None:
        said = run("faults", "build", "out.jsonl", "--models", "nobody")
        assert said.code == Exit.NOT_FOUND
        assert "[faults.model]" in said.err
        assert "careless" in said.err

    def test_a_file_of_something_else_is_not_overwritten(self, run: RunCommand) -> None:
        Path("out.jsonl").write_text("my diary\n")
        said = run("faults", "build", "out.jsonl", "--data", "data")
        assert said.code == Exit.UNREADABLE
        assert Path("out.jsonl").read_text() == "my diary\n"

    def test_a_word_on_what_was_done_that_is_none(self, run: RunCommand) -> None:
        Path("out.jsonl.done").write_text("{}\n")
        said = run("faults", "build", "out.jsonl", "--data", "data")
        assert said.code == Exit.UNREADABLE
        assert "[faults.unreadable]" in said.err

    @pytest.mark.parametrize("out", ["out.jsonl.gz", "no/folder/out.jsonl"])
    def test_a_place_that_cannot_be_written(self, run: RunCommand, out: str) -> None:
        said = run("faults", "build", out, "--data", "data")
        assert said.code == Exit.STORE
        assert "[file.unwritable]" in said.err

    def test_data_that_is_not_there(self, run: RunCommand) -> None:
        said = run("faults", "build", "out.jsonl", "--data", "data", "--models", "good")
        assert said.code == Exit.OK
        Path("data/classeval/model_output/good_class_H_greedy.json").unlink()
        said = run("faults", "build", "out.jsonl", "--data", "data", "--models", "good")
        assert said.code == Exit.UNAVAILABLE
        assert "[data.missing]" in said.err

    def test_what_holds_no_answers(self, run: RunCommand) -> None:
        Path("data/classeval/model_output/good_class_H_greedy.json").write_text("{}")
        Path("data/classeval/model_output/silent_class_H_greedy.json").write_text("[3]")
        said = run("faults", "build", "out.jsonl", "--data", "data")
        assert said.code == Exit.UNAVAILABLE
        assert "[faults.answers]" in said.err


@with_data
@pytest.mark.campaign
class TestTheWorld:
    """On the real data; wants the packages of `pip install 'auditcoder-bench[classeval]'`."""

    @pytest.fixture(autouse=True)
    def _packages(self) -> None:
        for package in suite("classeval").packages:
            pytest.importorskip(package)

    def test_references_pass_their_tests(self) -> None:
        known = suite("classeval")
        with LocalSandbox(packages=known.packages) as sandbox:
            failing = {
                subject.task_id.removeprefix("ClassEval_")
                for subject in read_subjects(DATA / "classeval" / "ClassEval_data.json")
                if check_reference(sandbox, subject).outcome != "passes"
            }
        assert failing == known.unusable.keys() | LEFT_OUT.keys()

    def test_ground_truth_agrees_with_the_finished_records(self) -> None:
        """A sample: the classes of finished records are examined again."""
        subjects = {s.task_id: s for s in read_subjects(DATA / "classeval" / "ClassEval_data.json")}
        finished = {r.id: r for r in read_lines(FINISHED, FaultRecord)}
        both = [
            PublishedAnswer(r.model, r.mode, subject, f"```python{code}```")
            for r in list(finished.values())[::25]
            for subject in [subjects[r.task_id]]
            for code in [r.generated_code.removeprefix(f"{subject.imports}\n")]
        ]
        same = 0
        with LocalSandbox(packages=suite("classeval").packages) as sandbox:
            for answer in both:
                _, made = examine(sandbox, answer)
                wanted = finished[answer.id].ground_truth
                same += made is not None and (made.ground_truth.kind, made.ground_truth.nodes) == (
                    wanted.kind,
                    wanted.nodes,
                )
        assert same >= 0.95 * len(both)
