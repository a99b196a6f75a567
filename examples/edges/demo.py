"""`make demo`, third part: a model writes a function, the sandbox runs it, the record replays."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from auditcoder.adapters.models.replay import ReplayModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import Manifest
from auditcoder.domain.execution import Bounds, CallFunction, Execution, Returned, RunProgram
from auditcoder.domain.request import Message, Speaker
from auditcoder.domain.task import FunctionForm, Task
from auditcoder.domain.usage import Phase
from auditcoder.domain.value_decoder import read
from auditcoder.domain.values import RunId
from auditcoder.interfaces.factories import open_model, open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.budget import Budget, BudgetLedger
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.model_client import ModelClient, ModelQuestion
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.response_formats import PythonBlock

HERE = Path("demo-run")
RUN = RunId("edges")
TASK = Task(
    title="Is it a palindrome?",
    statement="Write `palindrome(text: str) -> bool`: letters and digits only, case ignored.",
    form=FunctionForm(entry="palindrome"),
)
CASES = {
    "palindrome('A man, a plan, a canal: Panama')": True,
    "palindrome('Not one')": False,
    "palindrome('')": True,
    "palindrome('12 21')": True,
}
QUESTION = ModelQuestion(
    messages=(
        Message(speaker=Speaker.SYSTEM, text="You write short, correct Python 3."),
        Message(speaker=Speaker.USER, text=TASK.statement),
    ),
    shape=PythonBlock(),
    role="demo",
    phase=Phase.PLANNING,
    max_tokens=300,
)
ROGUE = "import socket; socket.create_connection(('192.0.2.1', 80))"


def main() -> None:
    """Run a model's code in the sandbox, then replay the record."""
    HERE.mkdir(exist_ok=True)
    for old in HERE.glob("edges.db*"):
        old.unlink()
    settings = read_settings()
    model = open_model(settings.model, settings, print)
    sandbox = open_sandbox(settings, print)
    store = SqliteStore(HERE / "edges.db")
    manifest = Manifest(model=model.name, weights=model.traits.weights, sandbox=sandbox.kind)
    recorder = Recorder.start(store, RUN, TASK, lambda: datetime.now(UTC), manifest)

    title(f"Request a function from {model.name}")
    client = ModelClient(model, recorder, BudgetLedger(Budget(tokens=4000), model.traits.price))
    answer = client.ask(QUESTION)
    used = answer.reply.usage
    print(answer.value)
    print(f"{used.prompt_tokens} tokens read, {used.completion_tokens} written,", end=" ")
    print(f"{answer.reply.seconds:.1f} s; the reply is event {answer.seq} of the record")

    title("Call it in the sandbox; the expected results stay outside")
    calls = CallFunction(calls=tuple(CASES))
    outcome = sandbox.run(Execution(source=answer.value, action=calls, watch=True))
    for (call, expected), result in zip(CASES.items(), outcome.calls, strict=False):
        value = read(result.value) if isinstance(result, Returned) else result.exception
        print(f"  {'right' if value == expected else 'wrong'}  {call} -> {value}")
    print(f"{outcome.ending.value}, {outcome.seconds * 1000:.1f} ms, {outcome.sandbox}")

    title("Run a program that tries to use the network")
    print(f"  {ROGUE}")
    rogue = sandbox.run(Execution(source=ROGUE, action=RunProgram(), bounds=Bounds(seconds=2)))
    raised = rogue.raised
    print(f"{rogue.ending.value}: {raised.exception}: {raised.message}" if raised else rogue.ending)

    title("Repeat the request and answer it from the record, without a model")
    again = Recorder.start(SqliteStore(":memory:"), RUN, TASK, lambda: datetime.now(UTC), manifest)
    replayed = ModelClient(ReplayModel(store, RUN), again, BudgetLedger(Budget(), None)).ask(
        QUESTION
    )
    print(f"the answer is identical: {replayed.value == answer.value}")
    print(f"the record verifies: {verify_run(store, RUN).holds}")
    for part in (model, sandbox, store):
        part.close()


def title(text: str) -> None:
    """Print the title of a section."""
    print(f"\n{'─' * min(78, shutil.get_terminal_size().columns)}\n{text}\n")


if __name__ == "__main__":
    main()
