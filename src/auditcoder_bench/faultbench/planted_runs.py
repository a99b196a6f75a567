"""Runs of planted bugs with a scripted model that answers honestly.

It plans the program and writes it with the bug. Asked to repair a function, it gives the right code
of that function, which is the present code unless the function has the bug. What it is asked
without sight of the program, and as an adjudicator, it answers from a second solution.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable
from enum import Enum
from importlib import resources
from typing import Any, NamedTuple

from msgspec.structs import replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.execution import CallFunction, Execution, Returned
from auditcoder.domain.graph import named_in
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.python_names import LITERAL_ERRORS, literal_value, parse
from auditcoder.domain.repair import Decision
from auditcoder.domain.request import GENEROUS, FinishReason, Reply, Request, Traits
from auditcoder.domain.task import CallExample, Example, FunctionForm, Limits, StdioExample, Task
from auditcoder.domain.usage import Usage, total
from auditcoder.domain.value_decoder import read
from auditcoder.domain.values import RunId, Value
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.options import Options, Planner
from auditcoder.lifecycle.planning.edge_cases import PREFIX
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, Solution, replay, start
from auditcoder.prompts import load
from auditcoder.sandboxed.result_comparison import same_output, same_value, shown
from auditcoder_bench.faultbench.injection_targets import SolvedProgram, program
from auditcoder_bench.faultbench.planted_bugs import PlantedBug

_FOLDER = "auditcoder_bench.faultbench.solved"
_RUN = RunId("planted")
_DISPUTE = re.compile(
    r"# A disputed case\n(?P<about>.*?)Input:\n(?P<given>.*)\n\nResult A:\n(?P<A>.*)\n\n"
    r"Result B:\n(?P<B>.*)\n\n# Your step",
    re.DOTALL,
)


class Setting(Enum):
    """What shows the bug, or that there is none."""

    GIVEN = "a given example shows the bug"
    GENERATED = "only a generated case shows the bug"
    WRONG_CASE = "the program is right and a generated case is wrong"
    RIGHT_CASE = "program and generated case are right"


class PlantedResult(Value):
    """How the run of one planted bug ended."""

    program: str
    kind: str
    setting: str
    outcome: str
    right: bool
    """Whether the final program gives the right result for the case."""
    changed: bool
    """Whether the final program differs from the first one."""
    located: tuple[str, ...] | None
    """The functions that the first diagnosis names; None if there is none."""
    exact: bool
    """Whether that is the function with the bug, and no other."""
    accepted: int
    """Number of accepted transactions."""
    transactions: int
    rulings: tuple[str, ...]
    named: bool
    """Whether an open doubt names the generated case."""
    doubts: tuple[str, ...]
    """All open doubts, each as one sentence."""
    calls: int
    words: int
    """Words of all requests and replies; the scripted model has no tokens."""
    replays: bool
    """Whether the record verifies, and replays to the same head."""

    @property
    def silent(self) -> bool:
        """Whether the run passed with a wrong program and without a doubt about the case."""
        return self.outcome == "passed" and not self.right and not self.named


class PlantedProgram(NamedTuple):
    """A solved program with a second solution and a bug."""

    bug: PlantedBug
    solved: SolvedProgram
    text: str
    """The right program."""
    again: str
    """The second solution."""
    root: str
    """The name of the root function."""
    sources: dict[str, str]
    """The right code of every function but the root, by name."""

    @property
    def faulty(self) -> str:
        """The whole program with the bug."""
        return _replaced(self.text, self.bug)

    @property
    def written(self) -> dict[str, str]:
        """The code of every function but the root, one of them with the bug."""
        changed = self.sources[self.bug.function].replace(self.bug.right, self.bug.wrong)
        return {**self.sources, self.bug.function: changed}


def planted_program(bug: PlantedBug) -> PlantedProgram:
    """Return the program of a bug."""
    folder = resources.files(_FOLDER)
    text = folder.joinpath(f"{bug.program}.py").read_text("utf-8")
    again = folder.joinpath("again").joinpath(f"{bug.program}.py").read_text("utf-8")
    solved = program(bug.program, text, again)
    nodes = {n.id: n.contract.name for n in solved.plan.graph.nodes if n.contract}
    sources = {nodes[n]: code for n, code in solved.codes.items() if n != ROOT}
    return PlantedProgram(bug, solved, text, again, nodes[ROOT], sources)


def _replaced(text: str, bug: PlantedBug) -> str:
    """Return a program with the bug in place of the right text of its function."""
    source = _functions(text)[bug.function]
    # The function may end with the text, whose last line end belongs to the module.
    if f"{source}\n".count(bug.right) != 1:
        raise ValueError(f"{bug.program}: the text of the bug does not occur once")
    return text.replace(source, f"{source}\n".replace(bug.right, bug.wrong).removesuffix("\n"))


class _Values:
    """Results of functions, computed in the sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def of(self, source: str, name: str, arguments: str) -> Any:
        """Return the result of a call; an object that equals no value if it raises."""
        call = CallFunction(calls=(f"{name}({arguments})",))
        outcome = self._sandbox.run(Execution(source=source, action=call))
        match outcome.calls:
            case (Returned(value=value), *_):
                return read(value)
            case _:
                return object()


class HonestModel:
    """Answers every request about one program honestly."""

    name = "honest"

    def __init__(
        self, planted: PlantedProgram, first: dict[str, str], cases: str, sandbox: Sandbox
    ) -> None:
        """`first` is the code that it writes at first, `cases` its reply about edge cases."""
        self.traits = Traits(limits=GENEROUS)
        self._planted = planted
        self._first = first
        self._cases = cases
        self._values = _Values(sandbox)
        self._answers: dict[str, Callable[[str], str]] = {
            "sketch": lambda _: _python(self._sketch()),
            "edge_cases": lambda _: self._cases,
            "joint": self._code,
            "independent": lambda _: _python(planted.again),
            "adjudicator": self._compare,
            "second_opinion": self._other,
            "repair_node": self._again,
        }
        self._roles: dict[str | None, str] = {load(name).digest: name for name in self._answers}

    def complete(self, request: Request) -> Reply:
        """Return the reply of the role that is asked."""
        role = self._roles.get(request.prompt, "")
        asked = request.messages[-1].text
        text = self._answers[role](asked) if role else "I cannot say."
        words = sum(len(m.text.split()) for m in request.messages)
        usage = Usage(calls=1, prompt_tokens=words, completion_tokens=len(text.split()))
        return Reply(text=text, finish=FinishReason.STOP, usage=usage, model=self.name)

    def close(self) -> None:
        """Do nothing."""

    def _sketch(self) -> str:
        solved = self._planted.solved
        return f"{solved.stubs}\n\n{solved.plan.given[ROOT].source}"

    def _code(self, asked: str) -> str:
        return _python("\n\n".join(self._first[name] for name in self._asked(asked)))

    def _other(self, asked: str) -> str:
        functions = _functions(self._planted.again)
        names = [name for name in self._asked(asked) if name in functions]
        imports = _imports(self._planted.again)
        return _python("\n\n".join([imports, *(functions[name] for name in names)]))

    def _again(self, asked: str) -> str:
        return f"{_CAUSE}\n\n{_python(self._planted.sources[self._asked(asked)[0]])}"

    def _asked(self, asked: str) -> list[str]:
        """Return the functions that the last part of a prompt asks for, in their order."""
        step = asked.rpartition("# Your step")[2]
        places = {
            name: match.start()
            for name in self._planted.sources
            if (match := re.search(rf"`{name}[`(]", step))
        }
        return sorted(places, key=lambda name: places[name])

    def _compare(self, asked: str) -> str:
        found = _DISPUTE.search(asked)
        assert found is not None, "the prompt of the adjudicator has another form"
        about = re.search(r"`(\w+)\(", found["about"])
        name = about[1] if about else self._planted.root
        given = "" if found["given"] == "(empty)" else found["given"]
        whole = about is None and not isinstance(self._planted.solved.task.form, FunctionForm)
        arguments = repr(given.removesuffix("\n")) if whole else given
        right = self._values.of(self._planted.again, name, arguments)
        sides = (side for side in ("A", "B") if _equal(found[side], right, printed=whole))
        said = next(sides, "neither")
        return json.dumps({"derivation": f"by the task it is {shown(right)}", "right": said})


_CAUSE = "cause: implementation, because the result for this input is wrong"


def _equal(text: str, value: object, *, printed: bool) -> bool:
    if printed:
        return same_output(str(value), "" if text == "(empty)" else text)
    try:
        return same_value(literal_value(text), value)
    except LITERAL_ERRORS:
        return False


def _functions(text: str) -> dict[str, str]:
    return {
        f.name: ast.get_source_segment(text, f) or ""
        for f in parse(text).body
        if isinstance(f, ast.FunctionDef)
    }


def _imports(text: str) -> str:
    kinds = ast.Import | ast.ImportFrom
    return "\n".join(ast.unparse(s) for s in parse(text).body if isinstance(s, kinds))


def _python(code: str) -> str:
    return f"```python\n{code.strip()}\n```\n"


def run_planted(
    bug: PlantedBug, setting: Setting, sandbox: Sandbox, options: Options | None = None
) -> PlantedResult:
    """Run the program of a bug in one setting, verify and replay the record."""
    values = _Values(sandbox)
    planted = _independent(planted_program(bug), values)
    right, wrong = (
        values.of(source, planted.root, _arguments(planted, bug.case))
        for source in (planted.text, planted.faulty)
    )
    if same_value(right, wrong):
        raise ValueError(f"{bug.program}: the case does not show the bug")
    task = _task(planted, setting, values, right)
    cases = {
        Setting.GIVEN: "None.",
        Setting.GENERATED: _line(planted, right),
        Setting.WRONG_CASE: _line(planted, wrong),
        Setting.RIGHT_CASE: _line(planted, right),
    }[setting]
    faulty = setting in {Setting.GIVEN, Setting.GENERATED}
    first = planted.written if faulty else planted.sources
    store = SqliteStore(":memory:")
    model = HonestModel(planted, first, cases, sandbox)
    solution = start(
        RunResources(store, model, sandbox), task, options or Options(planner=Planner.SKETCH), _RUN
    )
    again = replay(store, _RUN, sandbox)
    replays = verify_run(store, _RUN).holds and again.same and again.head == store.head(_RUN)
    result = _result(planted, setting, solution, replays=replays)
    final = values.of(solution.program or "", planted.root, _arguments(planted, bug.case))
    store.close()
    return replace(result, right=same_value(right, final))


def _independent(planted: PlantedProgram, values: _Values) -> PlantedProgram:
    """Return the program with the root of the first solution in the second one, if it fails.

    The second solutions were written and checked for the parts; not every root of them is right.
    """
    if all(_passes(planted, e, planted.again, values) for e in planted.solved.task.examples):
        return planted
    functions = {**_functions(planted.again), planted.root: _functions(planted.text)[planted.root]}
    imports = (_imports(planted.text), _imports(planted.again))
    return planted._replace(again="\n\n\n".join([*imports, *functions.values()]))


def _arguments(planted: PlantedProgram, case: str) -> str:
    return case if isinstance(planted.solved.task.form, FunctionForm) else repr(case)


def _task(planted: PlantedProgram, setting: Setting, values: _Values, right: Any) -> Task:
    """Return the task with the examples of a setting."""
    task, case = planted.solved.task, _example(planted, right)
    kept = tuple(e for e in task.examples if _given(e) != _given(case))
    examples = {
        Setting.GIVEN: lambda: (*kept, case),
        Setting.GENERATED: lambda: tuple(
            e for e in kept if _passes(planted, e, planted.faulty, values)
        ),
        Setting.WRONG_CASE: lambda: kept,
        Setting.RIGHT_CASE: lambda: kept,
    }[setting]()
    return replace(task, examples=examples, limits=Limits())


def _given(example: Example) -> str:
    assert isinstance(example, CallExample | StdioExample)
    return example.arguments if isinstance(example, CallExample) else example.input


def _passes(planted: PlantedProgram, example: Example, source: str, values: _Values) -> bool:
    """Whether a whole program passes an example."""
    found = values.of(source, planted.root, _arguments(planted, _given(example)))
    if isinstance(example, CallExample):
        return same_value(literal_value(example.result), found)
    assert isinstance(example, StdioExample)
    return same_output(example.output, str(found))


def _example(planted: PlantedProgram, result: Any) -> Example:
    if isinstance(planted.solved.task.form, FunctionForm):
        return CallExample(arguments=planted.bug.case, result=shown(result))
    return StdioExample(input=planted.bug.case, output=f"{result}\n")


def _line(planted: PlantedProgram, result: Any) -> str:
    """Return the case as the edge-case analyst writes it."""
    return f"{planted.root}({_arguments(planted, planted.bug.case)}) == {shown(result)}  # a case"


def _result(
    planted: PlantedProgram, setting: Setting, solution: Solution, *, replays: bool
) -> PlantedResult:
    trace = solution.trace
    found = next((d.diagnosis for d in trace.diagnoses if isinstance(d.diagnosis, Localised)), None)
    located = None if found is None else _names(planted, named_in(found.target))
    used = total(billed.reply.usage for billed in trace.replies)
    accepted = [t for t in trace.history if t.decision is Decision.ACCEPTED]
    return PlantedResult(
        program=planted.bug.program,
        kind=planted.bug.kind,
        setting=setting.value,
        outcome=solution.outcome.value,
        right=False,
        changed=bool(accepted),
        located=located,
        exact=located == (planted.bug.function,),
        accepted=len(accepted),
        transactions=len(trace.history),
        rulings=tuple(r.ruling.ruling.value for r in trace.rulings),
        named=any(doubt.check.startswith(PREFIX) for doubt in solution.doubts),
        doubts=tuple(doubt.line for doubt in solution.doubts),
        calls=used.calls,
        words=used.tokens,
        replays=replays,
    )


def _names(planted: PlantedProgram, nodes: Iterable[NodeId]) -> tuple[str, ...]:
    known = planted.solved.plan.graph.by_id
    return tuple(c.name if (n in known and (c := known[n].contract)) else n for n in nodes)
