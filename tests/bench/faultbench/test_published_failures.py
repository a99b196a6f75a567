"""`faults build` on invented answers, and on the real ones where they are available."""

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


def fail_if_called(*_: object) -> None:
    raise AssertionError("no work is left")


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

    def test_a_finished_build_does_no_work_again(
        self, run: RunCommand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = build(run)
        before = Path("out.jsonl").read_bytes()
        for name in ("examine", "check_reference"):
            monkeypatch.setattr(published_dataset, name, fail_if_called)
        assert build(run) == found
        assert Path("out.jsonl").read_bytes() == before

    def test_an_interrupted_build_resumes(self, run: RunCommand) -> None:
        build(run)
        whole, done = Path("out.jsonl"), Path("out.jsonl.done")
        before = whole.read_bytes()
        whole.write_bytes(before[: before.index(b"\n") + 50])
        lines = done.read_bytes().splitlines(keepends=True)
        done.write_bytes(b"".join(lines[:-1]) + lines[-1][:5])
        build(run)
        assert whole.read_bytes() == before

    def test_further_models_are_added_to_an_existing_file(self, run: RunCommand) -> None:
        assert build(run, "--models", "hopeless,good")["models"] == {"hopeless": 1}
        assert build(run)["models"] == {"careless": 1, "hopeless": 1}
        assert len(read_lines(Path("out.jsonl"), FaultRecord)) == 2

    def test_unusable_answers_and_omitted_tasks_are_reported(self, run: RunCommand) -> None:
        result = run("faults", "build", "out.jsonl", "--data", "data")
        assert "2 failures, 1 classes that pass, 1 unusable answers" in result.out
        assert "17 was left out: its tests expect a date" in result.err
        assert "4/4 answers" in result.err


class TestErrors:
    def test_an_unknown_model_is_reported_with_the_known_ones(self, run: RunCommand) -> None:
        result = run("faults", "build", "out.jsonl", "--models", "nobody")
        assert result.code == Exit.NOT_FOUND
        assert "[faults.model]" in result.err
        assert "careless" in result.err

    def test_an_unrelated_file_is_not_overwritten(self, run: RunCommand) -> None:
        Path("out.jsonl").write_text("my diary\n")
        result = run("faults", "build", "out.jsonl", "--data", "data")
        assert result.code == Exit.UNREADABLE
        assert Path("out.jsonl").read_text() == "my diary\n"

    def test_an_invalid_progress_file_is_reported(self, run: RunCommand) -> None:
        Path("out.jsonl.done").write_text("{}\n")
        result = run("faults", "build", "out.jsonl", "--data", "data")
        assert result.code == Exit.UNREADABLE
        assert "[faults.unreadable]" in result.err

    @pytest.mark.parametrize("out", ["out.jsonl.gz", "no/folder/out.jsonl"])
    def test_an_unwritable_path_is_reported(self, run: RunCommand, out: str) -> None:
        result = run("faults", "build", out, "--data", "data")
        assert result.code == Exit.STORE
        assert "[file.unwritable]" in result.err

    def test_missing_data_is_reported(self, run: RunCommand) -> None:
        result = run("faults", "build", "out.jsonl", "--data", "data", "--models", "good")
        assert result.code == Exit.OK
        Path("data/classeval/model_output/good_class_H_greedy.json").unlink()
        result = run("faults", "build", "out.jsonl", "--data", "data", "--models", "good")
        assert result.code == Exit.UNAVAILABLE
        assert "[data.missing]" in result.err

    def test_files_without_answers_are_reported(self, run: RunCommand) -> None:
        Path("data/classeval/model_output/good_class_H_greedy.json").write_text("{}")
        Path("data/classeval/model_output/silent_class_H_greedy.json").write_text("[3]")
        result = run("faults", "build", "out.jsonl", "--data", "data")
        assert result.code == Exit.UNAVAILABLE
        assert "[faults.answers]" in result.err


@with_data
@pytest.mark.campaign
class TestRealData:
    """On the real data; needs the packages of `pip install 'auditcoder-bench[classeval]'`."""

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
        """Every 25th published record is examined again."""
        subjects = {s.task_id: s for s in read_subjects(DATA / "classeval" / "ClassEval_data.json")}
        finished = {r.id: r for r in read_lines(FINISHED, FaultRecord)}
        answers = [
            PublishedAnswer(r.model, r.mode, subject, f"```python{code}```")
            for r in list(finished.values())[::25]
            for subject in [subjects[r.task_id]]
            for code in [r.generated_code.removeprefix(f"{subject.imports}\n")]
        ]
        same = 0
        with LocalSandbox(packages=suite("classeval").packages) as sandbox:
            for answer in answers:
                _, failure = examine(sandbox, answer)
                wanted = finished[answer.id].ground_truth
                same += failure is not None and (
                    failure.ground_truth.kind,
                    failure.ground_truth.nodes,
                ) == (
                    wanted.kind,
                    wanted.nodes,
                )
        assert same >= 0.95 * len(answers)
