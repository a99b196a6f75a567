"""Ground truth: the smallest set of methods whose replacement makes the tests pass."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.faultbench.failure_records import FaultRecord
from auditcoder_bench.faultbench.published_failures import PublishedAnswer, check_reference, examine
from tests.support.faultbench import (
    NO_IMPORT,
    OTHER_STATE,
    REFERENCE,
    WRONG_BOTH,
    WRONG_MEAN,
    subject,
)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    with LocalSandbox() as opened:
        yield opened


def record(sandbox: Sandbox, text: str) -> FaultRecord:
    _, failure = examine(sandbox, PublishedAnswer("m", "class_H", subject(), text))
    assert failure is not None
    return failure


class TestGroundTruth:
    def test_one_wrong_method_is_a_single_fault(self, sandbox: Sandbox) -> None:
        failure = record(sandbox, WRONG_MEAN)
        truth = failure.ground_truth
        assert (truth.kind, truth.nodes, truth.k, truth.tags) == ("single", ("mean",), 1, ())
        assert truth.unit_failing == ("mean",)
        assert failure.ground_truth_program is None  # the integration test passes
        assert {t.test_name for t in failure.failing_tests} == {"test_mean_1"}
        assert not failure.flaky

    def test_several_wrong_methods_are_a_multiple_fault(self, sandbox: Sandbox) -> None:
        truth = record(sandbox, WRONG_BOTH).ground_truth
        assert (truth.kind, truth.nodes, truth.via) == ("multi", ("add", "mean"), "unit_failing")

    def test_the_integration_test_alone_may_blame_fewer_methods(self, sandbox: Sandbox) -> None:
        truth = record(sandbox, WRONG_BOTH).ground_truth_program
        assert truth is not None
        assert (truth.kind, truth.nodes, truth.unit_failing) == ("single", ("add",), ())

    def test_a_missing_method_is_the_faulty_one(self, sandbox: Sandbox) -> None:
        failure = record(sandbox, REFERENCE.split("    def mean")[0])
        assert failure.ground_truth.nodes == ("mean",)
        assert failure.ground_truth.tags == ("missing_methods",)
        assert [m.in_generated for m in failure.methods] == [True, True, False]

    def test_a_method_with_a_wrong_signature_is_the_faulty_one(self, sandbox: Sandbox) -> None:
        truth = record(sandbox, REFERENCE.replace("def mean(self)", "def mean(self, most)"))
        assert truth.ground_truth.nodes == ("mean",)
        assert "mean" not in truth.failing_tests[0].cov

    def test_a_missing_import_is_an_interface_fault(self, sandbox: Sandbox) -> None:
        truth = record(sandbox, NO_IMPORT).ground_truth
        assert (truth.kind, truth.subtype) == ("interface", "module_or_import")
        assert (truth.nodes, truth.missing_imports) == (("<imports>",), ("import operator",))

    def test_a_wrong_shared_state_is_an_interface_fault(self, sandbox: Sandbox) -> None:
        truth = record(sandbox, OTHER_STATE.replace("self.total / ", "self.total // 2 + "))
        found = truth.ground_truth
        assert (found.kind, found.subtype) == ("interface", "shared_state")
        assert found.nodes == ("__init__", "add", "mean")
        assert found.tags == ("init_attrs_differ", "needs_unit_passing_method", "init_in_repair")
        assert found.via == "all_methods"

    def test_a_failure_that_no_reference_method_repairs_is_unfixable(
        self, sandbox: Sandbox
    ) -> None:
        code = REFERENCE + "    def __getattribute__(self, name):\n        raise OSError\n"
        truth = record(sandbox, code).ground_truth
        assert (truth.kind, truth.nodes, truth.k) == ("unfixable", (), 0)

    def test_a_random_result_makes_a_failure_flaky(self, sandbox: Sandbox) -> None:
        code = "import random\n" + WRONG_BOTH.replace(
            "return None", "return 1 if random.Random(random.random()).random() < 0.5 else 2"
        )
        flaky = [
            record(sandbox, code.replace("0.5", str(odds / 10))).flaky for odds in range(1, 10)
        ]
        assert any(flaky)


class TestOutcomes:
    def test_a_class_that_passes_makes_no_record(self, sandbox: Sandbox) -> None:
        done, failure = examine(sandbox, PublishedAnswer("m", "class_H", subject(), REFERENCE))
        assert (done.outcome, failure) == ("passes", None)

    def test_methods_of_a_class_that_passes_can_be_replaced(self, sandbox: Sandbox) -> None:
        """One answer in ten is sampled by its name, so some of these twenty are."""
        code = REFERENCE.replace("sum(self.seen)", "sum(list(self.seen))")
        done = [
            examine(sandbox, PublishedAnswer(f"m{n}", "class_H", subject(), code))[0]
            for n in range(20)
        ]
        assert sum(each.swapped for each in done) >= 1
        assert not any(each.broken_by for each in done)

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("I cannot do that.", "no class"),
            ("class Tally:\n    def", "no class"),
            ("class Tally(Missing):\n    x = 1", "does not load"),
        ],
    )
    def test_an_unusable_answer_has_a_reason(self, sandbox: Sandbox, text: str, why: str) -> None:
        done, failure = examine(sandbox, PublishedAnswer("m", "class_H", subject(), text))
        assert (done.outcome, failure) == ("unusable", None)
        assert why in done.why

    def test_the_reference_is_checked(self, sandbox: Sandbox) -> None:
        assert check_reference(sandbox, subject()).outcome == "passes"
        wrong = subject()._replace(reference=f"import math\n{WRONG_MEAN}")
        done = check_reference(sandbox, wrong)
        assert (done.outcome, done.why) == ("unusable", "it fails test_mean_1")
