"""Ground truth: the fewest methods that have to be replaced."""

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
    _, made = examine(sandbox, PublishedAnswer("m", "class_H", subject(), text))
    assert made is not None
    return made


class TestGroundTruth:
    def test_one_method(self, sandbox: Sandbox) -> None:
        made = record(sandbox, WRONG_MEAN)
        truth = made.ground_truth
        assert (truth.kind, truth.nodes, truth.k, truth.tags) == ("single", ("mean",), 1, ())
        assert truth.unit_failing == ("mean",)
        assert made.ground_truth_program is None  # what the last test asks comes out right
        assert {t.test_name for t in made.failing_tests} == {"test_mean_1"}
        assert not made.flaky

    def test_several_methods(self, sandbox: Sandbox) -> None:
        truth = record(sandbox, WRONG_BOTH).ground_truth
        assert (truth.kind, truth.nodes, truth.via) == ("multi", ("add", "mean"), "unit_failing")

    def test_by_the_integration_test_alone_fewer_may_do(self, sandbox: Sandbox) -> None:
        truth = record(sandbox, WRONG_BOTH).ground_truth_program
        assert truth is not None
        assert (truth.kind, truth.nodes, truth.unit_failing) == ("single", ("add",), ())

    def test_a_missing_method(self, sandbox: Sandbox) -> None:
        made = record(sandbox, REFERENCE.split("    def mean")[0])
        assert made.ground_truth.nodes == ("mean",)
        assert made.ground_truth.tags == ("missing_methods",)
        assert [m.in_generated for m in made.methods] == [True, True, False]

    def test_a_method_that_cannot_be_called_as_it_should(self, sandbox: Sandbox) -> None:
        truth = record(sandbox, REFERENCE.replace("def mean(self)", "def mean(self, most)"))
        assert truth.ground_truth.nodes == ("mean",)
        assert "mean" not in truth.failing_tests[0].cov

    def test_imports_alone(self, sandbox: Sandbox) -> None:
        truth = record(sandbox, NO_IMPORT).ground_truth
        assert (truth.kind, truth.subtype) == ("interface", "module_or_import")
        assert (truth.nodes, truth.missing_imports) == (("<imports>",), ("import operator",))

    def test_what_methods_share(self, sandbox: Sandbox) -> None:
        truth = record(sandbox, OTHER_STATE.replace("self.total / ", "self.total // 2 + "))
        found = truth.ground_truth
        assert (found.kind, found.subtype) == ("interface", "shared_state")
        assert found.nodes == ("__init__", "add", "mean")
        assert found.tags == ("init_attrs_differ", "needs_unit_passing_method", "init_in_repair")
        assert found.via == "all_methods"

    def test_what_no_method_of_the_reference_mends(self, sandbox: Sandbox) -> None:
        code = REFERENCE + "    def __getattribute__(self, name):\n        raise OSError\n"
        truth = record(sandbox, code).ground_truth
        assert (truth.kind, truth.nodes, truth.k) == ("unfixable", (), 0)

    def test_chance_makes_it_flaky(self, sandbox: Sandbox) -> None:
        code = "import random\n" + WRONG_BOTH.replace(
            "return None", "return 1 if random.Random(random.random()).random() < 0.5 else 2"
        )
        flaky = [
            record(sandbox, code.replace("0.5", str(odds / 10))).flaky for odds in range(1, 10)
        ]
        assert any(flaky)


class TestOutcomes:
    def test_a_class_that_passes_makes_no_record(self, sandbox: Sandbox) -> None:
        done, made = examine(sandbox, PublishedAnswer("m", "class_H", subject(), REFERENCE))
        assert (done.outcome, made) == ("passes", None)

    def test_methods_of_a_class_that_passes_can_be_replaced(self, sandbox: Sandbox) -> None:
        """One in ten is drawn by its name, so some of these are."""
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
    def test_what_cannot_be_used_says_why(self, sandbox: Sandbox, text: str, why: str) -> None:
        done, made = examine(sandbox, PublishedAnswer("m", "class_H", subject(), text))
        assert (done.outcome, made) == ("unusable", None)
        assert why in done.why

    def test_the_reference_is_checked(self, sandbox: Sandbox) -> None:
        assert check_reference(sandbox, subject()).outcome == "passes"
        wrong = subject()._replace(reference=f"import math\n{WRONG_MEAN}")
        done = check_reference(sandbox, wrong)
        assert (done.outcome, done.why) == ("unusable", "it fails test_mean_1")
