"""`make demo`, first part: a task becomes a program and a record, on the embedded model."""

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path("demo-run")
TASK = Path(__file__).parents[1] / "tasks" / "inventory.md"
RUN = "demo"


def main() -> None:
    """Solve one task and look at it from every side."""
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    title("A task, in words")
    print(TASK.read_text(encoding="utf-8"))
    title("From the task to a program: plan, write, check, and repair where the evidence points")
    auditcoder("solve", str(TASK), "--run-id", RUN, "--out", str(HERE / "program.py"), ok=(0, 11))
    title("Who is responsible for what, on what evidence")
    auditcoder("show", RUN)
    title("The program, with the owner of every line")
    auditcoder("blame", RUN)
    title("Does the record prove itself?")
    auditcoder("verify", RUN)
    title("Does it come out the same, without any model?")
    auditcoder("replay", RUN)


def auditcoder(*arguments: str, ok: tuple[int, ...] = (0,)) -> None:
    """Run a command as a user would."""
    print(f"$ auditcoder {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "auditcoder", *arguments, "--store", str(HERE / "solve.db")]
    ended = subprocess.run(command, check=False).returncode
    if ended not in ok:
        sys.exit(f"that ended with {ended}")


def title(text: str) -> None:
    """Say what comes next."""
    print(f"\n\033[1m{text}\033[0m\n" if sys.stdout.isatty() else f"\n{text}\n", flush=True)


if __name__ == "__main__":
    main()
