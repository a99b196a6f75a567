"""AeroComm-Small8: its oracles pass, its control does not, and plausible mistakes are found."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.domain.execution import (
    Bounds,
    CallFunction,
    Ending,
    Execution,
    ExecutionOutcome,
    Returned,
    RunTests,
    TestVerdict,
)
from auditcoder.domain.task import CallExample, CodeExample, FunctionForm, Task
from auditcoder.domain.value_decoder import read
from auditcoder.interfaces.task_sources import read_task_source
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.sandboxed.result_comparison import same_value
from auditcoder_bench.suites import aerocomm_data

HERE = Path(aerocomm_data.__file__).parent
ENTRIES = {
    "vis_viva": "vis_viva_speed",
    "hohmann": "hohmann_transfer",
    "kepler": "eccentric_anomaly",
    "quaternion": "rotate_vectors",
    "qpsk": "qpsk_map",
    "path_loss": "free_space_path_loss",
    "crc16": "crc16_ccsds",
    "convolutional": "convolutional_encode",
}
KINDS = {"nominal", "boundary", "vectorised", "dtype", "invalid", "tolerance"}
BOUNDS = Bounds(seconds=20.0)


class Mutant(NamedTuple):
    """One plausible mistake: a text of an oracle and its wrong replacement."""

    task: str
    mistake: str
    right: str
    wrong: str


MUTANTS = (
    Mutant("vis_viva", "the axis is added", "2.0 / r - 1.0 / a", "2.0 / r + 1.0 / a"),
    Mutant("vis_viva", "one distance too few", "2.0 / r - 1.0 / a", "1.0 / r - 1.0 / a"),
    Mutant("vis_viva", "no root", "np.sqrt(mu * (2.0 / r - 1.0 / a))", "mu * (2.0 / r - 1.0 / a)"),
    Mutant("vis_viva", "any distance is reached", "(a > 0) & (r > 2 * a)", "a != a"),
    Mutant("vis_viva", "a parabola is refused", "np.isnan(a) |", "~np.isfinite(a) |"),
    Mutant("vis_viva", "a hyperbola is refused", "(a == 0)", "(a <= 0)"),
    Mutant("vis_viva", "a NumPy scalar is returned", "float(speed)", "speed"),
    Mutant("vis_viva", "float32 is kept", "np.asarray(x, dtype=np.float64)", "np.asarray(x)"),
    Mutant("hohmann", "burns have a sign", "np.abs(", "("),
    Mutant("hohmann", "a whole period", "time = np.pi *", "time = 2 * np.pi *"),
    Mutant("hohmann", "the axis is the sum", "(r1 + r2) / 2", "r1 + r2"),
    Mutant("hohmann", "the burns are swapped", "(first, second, first", "(second, first, first"),
    Mutant("hohmann", "the total is a difference", "first + second,", "first - second,"),
    Mutant("hohmann", "NaN and infinity pass", "np.isfinite(x) & (x > 0)", "~(x <= 0)"),
    Mutant("hohmann", "a list", "tuple(float(x) for x in budget)", "[float(x) for x in budget]"),
    Mutant("kepler", "the wrong sign", "e * np.sin(found) - rest", "-e * np.sin(found) - rest"),
    Mutant("kepler", "the start is M", "np.copysign(np.pi, rest)", "rest"),
    Mutant("kepler", "too few steps", "range(60)", "range(5)"),
    Mutant("kepler", "one revolution only", "result = found + turns", "result = found"),
    Mutant("kepler", "degrees", "broadcast_arrays(m, e)", "broadcast_arrays(np.radians(m), e)"),
    Mutant("kepler", "a parabola passes", "(e < 1)", "(e <= 1)"),
    Mutant("kepler", "an infinite anomaly passes", "np.all(np.isfinite(m))", "True"),
    Mutant("quaternion", "the other direction", "w * twice", "-w * twice"),
    Mutant("quaternion", "the scalar last", "q / norm, [1]", "np.roll(q, 1, -1) / norm, [1]"),
    Mutant("quaternion", "the norm counts", "q / norm", "q"),
    Mutant("quaternion", "a zero quaternion passes", "np.any(norm < 1e-12)", "False"),
    Mutant("quaternion", "half the angle", "twice = 2 * np", "twice = np"),
    Mutant("quaternion", "NaN passes", "np.all(np.isfinite(q)) and", "True and"),
    Mutant("quaternion", "float32 is kept", "np.asarray(q, dtype=np.float64)", "np.asarray(q)"),
    Mutant("quaternion", "float32 is made", "np.asarray(v, dtype=np.float64)", "np.float32(v)"),
    Mutant(
        "qpsk",
        "the bits of a pair are swapped",
        "signs[..., 0::2] + 1j * signs[..., 1::2]",
        "signs[..., 1::2] + 1j * signs[..., 0::2]",
    ),
    Mutant("qpsk", "plus for a 1", "1.0 - 2.0 * bits", "-1.0 + 2.0 * bits"),
    Mutant("qpsk", "the phase runs the other way", "+ 1j * signs", "- 1j * signs"),
    Mutant("qpsk", "no scale", "np.sqrt(energy / 2)", "np.sqrt(energy)"),
    Mutant("qpsk", "unsigned bits wrap", "1.0 - 2.0 * bits.astype(np.float64)", "1 - 2 * bits"),
    Mutant("qpsk", "an odd bit is dropped", "or bits.shape[-1] % 2", ""),
    Mutant("qpsk", "any number is a bit", "(bits == 0) | (bits == 1)", "bits == bits"),
    Mutant("path_loss", "natural logarithm", "np.log10", "np.log"),
    Mutant("path_loss", "ten instead of twenty", "20 *", "10 *"),
    Mutant("path_loss", "kilometres as metres", "d * 1e3", "d"),
    Mutant("path_loss", "a rounded speed of light", "299792458.0", "3e8"),
    Mutant("path_loss", "never negative", "float(loss)", "max(0.0, float(loss))"),
    Mutant("path_loss", "zero passes", "(x > 0)", "(x >= 0)"),
    Mutant("path_loss", "float32 is kept", "np.asarray(x, dtype=np.float64)", "np.asarray(x)"),
    Mutant("crc16", "starts at zero", "initial=0xFFFF", "initial=0"),
    Mutant("crc16", "another polynomial", "0x1021", "0x8005"),
    Mutant("crc16", "the register is inverted at the end", "int(crc)", "int(crc) ^ 0xFFFF"),
    Mutant(
        "crc16",
        "bits from the low end",
        "np.frombuffer(bytes(data), dtype=np.uint8)",
        "np.array([int(f'{byte:08b}'[::-1], 2) for byte in data], dtype=np.uint8)",
    ),
    Mutant("crc16", "bytes from the end", "data[..., place]", "data[..., -1 - place]"),
    Mutant("crc16", "other dtypes pass", "or data.dtype != np.uint8", ""),
    Mutant("crc16", "any start passes", "not 0 <= initial <= 0xFFFF", "False"),
    Mutant("convolutional", "no flush", "2 if terminate else 0", "0"),
    Mutant("convolutional", "always flushed", "2 if terminate else 0", "2"),
    Mutant("convolutional", "one bit of tail", "2 if terminate else 0", "int(terminate)"),
    Mutant(
        "convolutional",
        "generators (5, 7)",
        "[now ^ before ^ earlier, now ^ earlier]",
        "[now ^ earlier, now ^ before ^ earlier]",
    ),
    Mutant("convolutional", "generators (7, 6)", "now ^ earlier]", "now ^ before]"),
    Mutant("convolutional", "not interleaved", "axis=-1)", "axis=-2)"),
    Mutant("convolutional", "wide integers", "bits.astype(np.uint8)", "bits.astype(np.int64)"),
    Mutant("convolutional", "any number is a bit", "(bits == 0) | (bits == 1)", "bits == bits"),
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with LocalSandbox(packages=("numpy",)) as opened:
        yield opened


def oracle(name: str) -> str:
    return (HERE / "oracles" / f"{name}.py").read_text(encoding="utf-8")


def hidden(name: str) -> str:
    return (HERE / "hidden" / f"{name}.py").read_text(encoding="utf-8")


def task(name: str) -> Task:
    return read_task_source(HERE / "tasks" / f"{name}.md")


def judged(sandbox: Sandbox, program: str, tests: str) -> ExecutionOutcome:
    return sandbox.run(Execution(source=program, action=RunTests(code=tests), bounds=BOUNDS))


def passed(outcome: ExecutionOutcome) -> list[str]:
    return [test.name for test in outcome.tests if test.verdict is TestVerdict.PASSED]


def methods(name: str) -> list[str]:
    """Return the names of the hidden tests, as they are written."""
    functions = [n for n in ast.walk(ast.parse(hidden(name))) if isinstance(n, ast.FunctionDef)]
    return [function.name for function in functions if function.name.startswith("test")]


def test_there_are_exactly_eight_tasks() -> None:
    for folder, suffix in (("tasks", ".md"), ("hidden", ".py"), ("oracles", ".py")):
        found = {path.stem for path in (HERE / folder).glob(f"*{suffix}")} - {"__init__"}
        assert found == set(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_task_is_a_function_with_public_examples(name: str) -> None:
    parsed = task(name)
    assert isinstance(parsed.form, FunctionForm)
    assert parsed.form.entry == ENTRIES[name]
    assert parsed.form.signature.startswith(f"def {ENTRIES[name]}(")
    assert len(parsed.examples) >= 2
    assert parsed.source == f"aerocomm/{name}"


@pytest.mark.parametrize("name", ENTRIES)
def test_the_examples_of_a_statement_are_the_checked_ones(name: str) -> None:
    parsed = task(name)
    shown = re.findall(rf"^ *>>> {ENTRIES[name]}\(", parsed.statement, re.MULTILINE)
    assert 2 <= len(shown) <= 3
    calls = [example for example in parsed.examples if isinstance(example, CallExample)]
    codes = [example for example in parsed.examples if isinstance(example, CodeExample)]
    if codes:  # an array is shown as a list, which is not a plain call of the entry
        assert not calls
        assert len(codes) == 3
    else:
        assert len(calls) == len(shown)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_oracle_passes_the_public_examples(sandbox: Sandbox, name: str) -> None:
    for example in task(name).examples:
        if isinstance(example, CodeExample):
            outcome = judged(sandbox, oracle(name), example.code)
            assert outcome.ending is Ending.OK, outcome
            assert len(passed(outcome)) == outcome.planned == 1
            continue
        assert isinstance(example, CallExample)
        action = CallFunction(calls=(f"{ENTRIES[name]}({example.arguments})",))
        (found,) = sandbox.run(Execution(source=oracle(name), action=action, bounds=BOUNDS)).calls
        assert isinstance(found, Returned), found
        assert same_value(ast.literal_eval(example.result), read(found.value)), example


@pytest.mark.parametrize("name", ENTRIES)
def test_an_oracle_passes_its_nine_hidden_tests(sandbox: Sandbox, name: str) -> None:
    outcome = judged(sandbox, oracle(name), hidden(name))
    assert outcome.ending is Ending.OK, outcome
    assert outcome.planned == 9
    assert len(passed(outcome)) == 9, [t for t in outcome.tests if t.name not in passed(outcome)]


def control_program(entry: str) -> str:
    """Return a program whose entry takes anything, raises nothing and is always wrong."""
    return f"def {entry}(*arguments, **named):\n    return -1.0\n"


@pytest.mark.parametrize("name", ENTRIES)
def test_the_control_program_passes_no_hidden_test(sandbox: Sandbox, name: str) -> None:
    outcome = judged(sandbox, control_program(ENTRIES[name]), hidden(name))
    assert outcome.ending is Ending.OK, outcome
    assert (len(outcome.tests), passed(outcome)) == (9, [])


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("answer", ["None", "0.0", "np.zeros(0)"])
def test_no_constant_answer_passes_a_hidden_test(sandbox: Sandbox, name: str, answer: str) -> None:
    program = f"import numpy as np\ndef {ENTRIES[name]}(*given, **named): return {answer}\n"
    outcome = judged(sandbox, program, hidden(name))
    assert (len(outcome.tests), passed(outcome)) == (9, [])


@pytest.mark.parametrize("name", ENTRIES)
def test_a_task_has_nine_hidden_tests_of_six_kinds(name: str) -> None:
    names = methods(name)
    assert len(set(names)) == len(names) == 9
    kinds = {method.split("_")[1].replace("shape", "dtype") for method in names}
    assert kinds == KINDS


def test_there_are_seventy_two_hidden_tests() -> None:
    assert sum(len(methods(name)) for name in ENTRIES) == 72


@pytest.mark.parametrize("name", ENTRIES)
def test_an_oracle_has_six_to_twenty_two_lines(name: str) -> None:
    lines = [line for line in oracle(name).splitlines() if line.strip()]
    assert 6 <= len(lines) <= 22


def test_every_task_has_sources_and_every_source_is_used() -> None:
    registry = tomllib.loads((HERE / "sources.toml").read_text(encoding="utf-8"))
    fields = {"id", "organisation", "title", "edition", "address", "supports"}
    assert all(set(source) == fields and all(source.values()) for source in registry["sources"])
    assert all(source["address"].startswith("https://") for source in registry["sources"])
    known = [source["id"] for source in registry["sources"]]
    assert len(set(known)) == len(known)
    assert set(registry["tasks"]) == set(ENTRIES)
    grounds = registry["tasks"].values()
    assert all(ground and all(ground.values()) for ground in grounds)
    assert {source for ground in grounds for source in ground} == set(known)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.task}: {m.mistake}")
def test_a_plausible_mistake_fails_a_hidden_test(sandbox: Sandbox, mutant: Mutant) -> None:
    program = oracle(mutant.task).replace(mutant.right, mutant.wrong)
    assert program != oracle(mutant.task)
    outcome = judged(sandbox, program, hidden(mutant.task))
    assert len(outcome.tests) == 9
    assert len(passed(outcome)) < 9
    # A mutant that fails every test would say nothing about the quality of the tests.
    assert passed(outcome)


def test_every_task_has_mutants() -> None:
    assert all(sum(m.task == name for m in MUTANTS) >= 3 for name in ENTRIES)
