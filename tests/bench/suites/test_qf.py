"""QF-Small6: the checkout is read unchanged, and contract checks find wrong programs."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.domain.errors import DataUnavailable
from auditcoder.domain.task import FilesExample, FilesForm
from auditcoder.domain.values import encode
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.experiments import problems_of
from auditcoder_bench.judge import judge, resolved
from auditcoder_bench.problem import FileTests, Problem
from auditcoder_bench.suites import suite
from auditcoder_bench.suites.qf import REVISION, clarification, contract

NAMES = {
    "corporate-action-adjustment": 3,
    "earnings-surprise-calculator": 3,
    "historical-var": 2,
    "interest-rate-cap-floor": 3,
    "pca-factor-portfolio": 3,
    "zero-coupon-bootstrapping": 2,
}
"""The number of contract checks of each task."""
CANARY = "# a line that must stay where it stands"
RETURNS = {
    "portfolio_value": 1000,
    "weights": {"A": 0.5, "B": 0.5},
    "returns": [{"date": str(n), "A": n / 1000, "B": -n / 4000} for n in range(-60, 60)],
}
CURVE = {"maturities": [1, 2, 4], "par_rates": [0.03, 0.032, 0.035], "coupon_freq": 1}

VAR = """\
import json
import os

data = json.load(open("returns.json"))
weights, days = data["weights"], data["returns"]
ranked = sorted(sum(weights[a] * day[a] for a in weights) for day in days)
n99, n95 = len(ranked) // 100, len(ranked) * 5 // 100
tail = ranked[: n99 + 1]
found = {"var_95_1d": ranked[n95], "var_99_1d": ranked[n99], "cvar_99_1d": sum(tail) / len(tail)}
os.makedirs("output")
with open("output/var_results.json", "w") as file:
    json.dump({k: round(-v * data["portfolio_value"], 2) for k, v in found.items()}, file)
"""
ZEROS = """\
import json
import math
import os

data = json.load(open("curve_data.json"))
times, zeros = data["maturities"], {}
for time, rate in zip(times, data["par_rates"]):
    def left(zero):
        curve = {**zeros, time: zero}
        def at(t):
            low = max((k for k in curve if k <= t), default=min(curve))
            high = min(k for k in curve if k >= t)
            share = (t - low) / (high - low) if high > low else 0
            return math.exp(-t * (curve[low] + share * (curve[high] - curve[low])))
        return rate * sum(at(t) for t in range(1, time + 1)) + at(time) - 1
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if left(middle) > 0 else (low, middle)
    zeros[time] = low
forwards, before = {}, 0
for time in times:
    gap = time - before
    forwards[time] = (zeros[time] * time - zeros.get(before, 0) * before) / gap
    before = time
curves = {
    "zero_rates": zeros,
    "discount_factors": {t: math.exp(-z * t) for t, z in zeros.items()},
    "forward_rates": forwards,
}
os.makedirs("output")
with open("output/results.json", "w") as file:
    rounded = {n: {str(t): round(v, 8) for t, v in c.items()} for n, c in curves.items()}
    json.dump(rounded, file)
"""


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    opened = LocalSandbox()
    yield opened
    opened.close()


@pytest.fixture(name="checkout")
def _checkout(tmp_path: Path) -> Path:
    """Write a checkout in upstream's layout, with texts and numbers of our own."""
    for source in suite("qf").sources:
        name, _, file = source.path.removeprefix("qfbench/tasks/").partition("/")
        path = tmp_path / source.path
        path.parent.mkdir(parents=True, exist_ok=True)
        match file:
            case "instruction.md":
                path.write_text(f"{CANARY}\n\n# {name}\n\nRead `/app/x`.\n")
            case "tests/test_outputs.py":
                path.write_text("def test_secret():\n    assert open('/app/output/ok', 'w')\n")
            case "environment/data/returns.json":
                path.write_text(json.dumps(RETURNS))
            case "environment/data/curve_data.json":
                path.write_text(json.dumps(CURVE))
            case _:
                path.write_text(f"data of {name}\n")
    return tmp_path


def read_problems(checkout: Path) -> dict[str, Problem]:
    return {problem.id: problem for problem in problems_of(suite("qf"), checkout)}


class TestReading:
    def test_all_six_problems_are_file_tasks(self, checkout: Path) -> None:
        problems = read_problems(checkout)
        assert set(problems) == set(NAMES)
        assert problems["corporate-action-adjustment"].task.form == FilesForm(
            inputs=("prices.csv", "corporate_actions.json"),
            artefacts=("output/adjusted_prices.csv", "output/results.json"),
        )
        assert problems["historical-var"].task.form == FilesForm(
            inputs=("returns.json",), artefacts=("output/var_results.json",)
        )

    def test_a_statement_is_the_original_followed_by_clarifications(self, checkout: Path) -> None:
        for name, problem in read_problems(checkout).items():
            original, _, added = problem.task.statement.partition("\n\n## Clarifications\n\n")
            assert original == f"{CANARY}\n\n# {name}\n\nRead `/app/x`."
            assert added.startswith("`/app/x` stands for `x`")
            assert added.rstrip().endswith(clarification(name) or "the program makes it.")
            assert CANARY.strip("# ") not in problem.task.title

    def test_the_visible_data_is_an_example_without_expected_files(self, checkout: Path) -> None:
        (example,) = read_problems(checkout)["pca-factor-portfolio"].task.examples
        assert example == FilesExample(
            inputs={"params.json": "data of pca-factor-portfolio\n"}, artefacts={}
        )

    def test_tests_work_in_the_current_folder_and_stay_hidden(self, checkout: Path) -> None:
        for problem in read_problems(checkout).values():
            assert isinstance(problem.hidden, FileTests)
            theirs, ours = problem.hidden.code
            assert "open('./output/ok', 'w')" in theirs
            assert ours == contract(problem.id)
            assert b"test_secret" not in encode(problem.task)
            assert b"Contract" not in encode(problem.task)

    def test_the_checkout_folder_itself_is_accepted(self, checkout: Path) -> None:
        assert set(read_problems(checkout / "qfbench")) == set(NAMES)

    def test_a_reference_is_extracted_from_the_solution_script(self, checkout: Path) -> None:
        assert read_problems(checkout)["historical-var"].reference is None
        script = checkout / "qfbench/tasks/historical-var/solution/solve.sh"
        script.parent.mkdir()
        script.write_text("python3 - << 'PYEOF'\nopen('/app/returns.json')\nPYEOF\n")
        assert read_problems(checkout)["historical-var"].reference == "open('./returns.json')\n"

    def test_a_checkout_without_tests_is_refused_with_advice(self, checkout: Path) -> None:
        (checkout / "qfbench/tasks/historical-var/tests/test_outputs.py").unlink()
        with pytest.raises(DataUnavailable, match="historical-var/tests") as caught:
            read_problems(checkout)
        assert caught.value.code == "data.missing"
        assert "git clone" in caught.value.advice
        assert REVISION in caught.value.advice


def test_four_tasks_have_clarifications() -> None:
    clear = {"historical-var", "interest-rate-cap-floor"}
    assert {name for name in NAMES if not clarification(name)} == clear


def test_there_are_sixteen_contract_checks() -> None:
    counts = {}
    for name in NAMES:
        classes = [n for n in ast.parse(contract(name)).body if isinstance(n, ast.ClassDef)]
        assert [ast.unparse(base) for c in classes for base in c.bases] == ["unittest.TestCase"]
        methods = [n.name for n in classes[0].body if isinstance(n, ast.FunctionDef)]
        counts[name] = sum(method.startswith("test_") for method in methods)
    assert counts == NAMES
    assert sum(counts.values()) == 16


class TestContracts:
    @pytest.mark.parametrize(
        ("name", "program"), [("historical-var", VAR), ("zero-coupon-bootstrapping", ZEROS)]
    )
    def test_a_right_program_passes_the_contract_checks(
        self, checkout: Path, sandbox: Sandbox, name: str, program: str
    ) -> None:
        results = judge(sandbox, read_problems(checkout)[name], program)
        assert sum("Contract" in test for test in results) == NAMES[name]
        assert results["test_secret"]
        assert resolved(results)

    @pytest.mark.parametrize(
        ("name", "program"),
        [
            ("historical-var", VAR.replace("[n95]", "[n95 + 1]")),
            ("historical-var", VAR.replace("[: n99 + 1]", "[:n99]")),
            ("historical-var", VAR.replace("round(-v", "round(v")),
            ("zero-coupon-bootstrapping", ZEROS.replace("gap = time - before", "gap = 1")),
            ("zero-coupon-bootstrapping", ZEROS.replace("rate * sum", "1.1 * rate * sum")),
            ("zero-coupon-bootstrapping", ZEROS.replace("round(v, 8)", "v")),
        ],
    )
    def test_a_wrong_program_fails_a_contract_check(
        self, checkout: Path, sandbox: Sandbox, name: str, program: str
    ) -> None:
        assert program not in {VAR, ZEROS}
        results = judge(sandbox, read_problems(checkout)[name], program)
        assert results["program"]
        assert not all(passed for test, passed in results.items() if "Contract" in test)

    def test_a_program_that_writes_nothing_fails(self, checkout: Path, sandbox: Sandbox) -> None:
        for problem in read_problems(checkout).values():
            assert judge(sandbox, problem, "") == {"program": False}
