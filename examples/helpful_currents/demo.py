"""`make demo`, second part: read a worked record, then alter one byte of it."""

import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from record import S1_2, build

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.values import RunId

HERE = Path("demo-run")
RUN = RunId("helpful-currents")


def main() -> None:
    """Show which questions a record answers, and how an alteration is detected."""
    HERE.mkdir(exist_ok=True)
    for old in HERE.glob("runs.db*"):
        old.unlink()
    store = SqliteStore(HERE / "runs.db")
    print("Recording one small run: plan, build, check, fail, locate, repair, accept …")
    recorder = build(store, RUN)
    code = recorder.ledger.working.code[S1_2].digest
    store.close()

    title("What was built, and how?")
    auditcoder("show", RUN)
    title("Which responsibility owns line 29 of the program?")
    auditcoder("blame", RUN, "29")
    title("Everything that is recorded about one responsibility")
    auditcoder("show", RUN, S1_2)
    title("Has anything been altered?")
    auditcoder("verify", RUN)

    title("The database refuses to alter an event")
    database = sqlite3.connect(HERE / "runs.db")
    print("$ sqlite3 demo-run/runs.db \"UPDATE events SET body = 'x' WHERE seq = 20\"")
    try:
        database.execute("UPDATE events SET body = x'78' WHERE seq = 20")
    except sqlite3.IntegrityError as refusal:
        print(f"Error: {refusal}")
    database.close()

    title("Export the run and change one byte of the bundle, with a matching zip checksum")
    bundle, altered = HERE / "run.acb", HERE / "altered.acb"
    auditcoder("export", RUN, "--out", str(bundle))
    change_one_byte(bundle, altered, f"blobs/{code}")
    auditcoder("verify", str(altered), expected=1)


def change_one_byte(bundle: Path, altered: Path, part: str) -> None:
    """Write the bundle again with one byte of one part changed and a matching zip checksum."""
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(altered, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename == part:
                content = content.replace(b"1000003", b"1000007", 1)
            same = zipfile.ZipInfo(info.filename, info.date_time)
            same.compress_type, same.external_attr = info.compress_type, info.external_attr
            with new.open(same, "w", force_zip64=info.filename == "events.jsonl") as copy:
                copy.write(content)
    print(f"(in {part[:18]}…: 1000003 became 1000007)")


def title(text: str) -> None:
    """Print the title of a section."""
    print(f"\n── {text}")


def auditcoder(*arguments: str, expected: int = 0) -> None:
    """Run the command line as a user would, and stop if it does not end as expected."""
    print(f"$ auditcoder {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "auditcoder", *arguments]
    if arguments[1] == RUN:
        command += ["--store", str(HERE / "runs.db")]
    done = subprocess.run(command, check=False)
    if done.returncode != expected:
        sys.exit(f"the exit code is {done.returncode}, not {expected}")


if __name__ == "__main__":
    main()
