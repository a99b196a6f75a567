"""`make demo`, first part: solve a task with the embedded model and examine its record."""

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path("demo-run")
TASK = Path(__file__).parents[1] / "tasks" / "inventory.md"
RUN = "demo"


def main() -> None:
    """Solve one task, then show, blame, verify and replay the run."""
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    title("The task")
    print(TASK.read_text(encoding="utf-8"))
    title("Solve it: plan, write, check, and repair the part at fault")
    auditcoder("solve", str(TASK), "--run-id", RUN, "--out", str(HERE / "program.py"), ok=(0, 11))
    title("The responsibilities and their evidence")
    auditcoder("show", RUN)
    title("The program with the owner of every line")
    auditcoder("blame", RUN)
    title("Verify the record")
    auditcoder("verify", RUN)
    title("Replay the run without a model")
    auditcoder("replay", RUN)


def auditcoder(*arguments: str, ok: tuple[int, ...] = (0,)) -> None:
    """Run a command as a user would."""
    print(f"$ auditcoder {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "auditcoder", *arguments, "--store", str(HERE / "solve.db")]
    ended = subprocess.run(command, check=False).returncode
    if ended not in ok:
        sys.exit(f"the exit code is {ended}")


def title(text: str) -> None:
    """Print the title of a section."""
    print(f"\n\033[1m{text}\033[0m\n" if sys.stdout.isatty() else f"\n{text}\n", flush=True)


if __name__ == "__main__":
    main()
