"""The command line: what can be said, and what happens when something goes wrong.

Nothing heavy is imported here; each command loads what it needs, so that `--help` is instant.
"""

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module

from auditcoder import __version__

_STORE_HELP = (
    "where runs are kept: a SQLite file or a postgresql:// address"
    " (default: $AUDITCODER_STORE, else runs.db in your data folder)"
)

_MODEL_HELP = (
    "embedded, manual:FOLDER, or provider:name such as openai:gpt-4o"
    " (default: $AUDITCODER_MODEL, else the configuration's, else embedded)"
)

_EPILOG = """\
RUN is a run's id or the beginning of one; but for resume and audit, also the path
of a bundle.
Exit codes: 0 done, 1 does not verify, 2 usage, 3 not found, 4 unreadable,
5 store trouble, 6 refused, 7 model trouble, 8 sandbox trouble, 9 over budget,
10 the task cannot be understood, 11 the program does not pass its checks,
12 data or machines cannot be had.
See docs/reference/exit-codes.md.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="auditcoder",
        description="A program, and the record of how it was built.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"auditcoder {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(
        name: str, summary: str, *, run: str = "a run's id or its beginning, or a bundle"
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if run:
            sub.add_argument("run", metavar="RUN", type=_named, help=run)
        sub.add_argument("--store", metavar="STORE", help=_STORE_HELP)
        sub.add_argument("--json", action="store_true", help="write JSON instead of text")
        return sub

    _add_solve(command("solve", "turn a task into a program and its record", run=""))
    again = command(
        "resume",
        "go on with a run that was cut off; nothing is asked twice",
        run="a run's id or its beginning",
    )
    again.add_argument("--model", metavar="MODEL", help="another model than the run began with")
    _add_out(again)
    replay = command("replay", "go through a run again without a model, and compare every event")
    replay.add_argument(
        "--trust-evidence",
        action="store_true",
        help="believe what checks saw instead of running them again",
    )
    command("runs", "list the runs that are kept", run="")
    show = command("show", "show a run's responsibilities, or one of them in full")
    show.add_argument("node", metavar="NODE", nargs="?", help="a responsibility, such as S1_2")
    blame = command("blame", "say who owns a line of the program, since when, and on what evidence")
    blame.add_argument(
        "line", metavar="LINE", nargs="?", type=int, help="a line number; all lines if left out"
    )
    verify = command("verify", "check that a record is whole and its history legal")
    verify.add_argument(
        "--head",
        metavar="DIGEST",
        type=_digest,
        help="a head digest kept from earlier; it must be in the chain",
    )
    export = command("export", "write a run, or what it says, to a file or standard output")
    export.add_argument(
        "--as",
        dest="form",
        choices=["bundle", "record", "repairs", "head"],
        default="bundle",
        help="bundle: everything, in one file to hand on (the default); record: the responsibility"
        " records; repairs: the repair log; head: the digest that names this whole history",
    )
    export.add_argument("--out", metavar="FILE", help="where to write (bundle: RUN.acb)")
    take = command("import", "take a bundle's run into the store, if it verifies", run="")
    take.add_argument("bundle", metavar="BUNDLE", help="the bundle file")
    audit = command("audit", "say what records show of structure, repair and cost", run="")
    audit.add_argument(
        "runs", metavar="RUN", nargs="*", help="the runs (default: every run that is kept)"
    )
    _add_form(audit)
    _add_bench(commands)
    _add_faults(commands)
    _add_models(commands)
    doctor = "say what this machine has, what is missing, and how to get it"
    commands.add_parser(
        "doctor", help=doctor, description=doctor[0].upper() + doctor[1:] + "."
    ).add_argument("--json", action="store_true", help="write JSON instead of text")
    schema = commands.add_parser("schema", help="print the JSON Schema of a record's entries")
    schema.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    return parser


def _add_solve(solve: argparse.ArgumentParser) -> None:
    solve.add_argument(
        "task",
        metavar="TASK",
        help="a Markdown or text file, the text itself, or - for standard input",
    )
    about = solve.add_argument_group("the task", "what its front matter says, said here instead")
    about.add_argument("--form", metavar="FORM", help="program, function, class or files")
    about.add_argument("--entry", metavar="NAME", help="the function, or the class, to be written")
    about.add_argument(
        "--signature", metavar="HEADER", help="such as 'def f(xs: list[int]) -> int'"
    )
    about.add_argument("--title", metavar="TEXT", help="what to call it")
    about.add_argument("--seconds", metavar="S", type=_amount, help="time limit of one run")
    about.add_argument("--memory-mb", metavar="N", type=_positive, help="memory limit of one run")
    about.add_argument(
        "--artefact", metavar="NAME", action="append", help="a file that the program must leave"
    )
    about.add_argument(
        "--tests",
        metavar="PATH",
        help="more examples: a Python, JSON, JSONL or TOML file, or a folder of .in and .out files",
    )
    how = solve.add_argument_group("how it works")
    how.add_argument("--model", metavar="MODEL", help=_MODEL_HELP)
    how.add_argument(
        "--planner",
        choices=["sketch", "staged"],
        default="sketch",
        help="sketch: one call, Python stubs (the default); staged: eight roles in turn",
    )
    how.add_argument(
        "--build",
        choices=["joint", "node"],
        default="joint",
        help="joint: all code in one call, split by owner (the default); node: a call for each",
    )
    how.add_argument(
        "--differential",
        action="store_true",
        help="have a slow reference written for every function, and compare",
    )
    how.add_argument(
        "--no-review",
        dest="review",
        action="store_false",
        help="with --locator paper-rules: never ask a model which function is to blame",
    )
    _add_repairing(how)
    how.add_argument("--budget-tokens", metavar="N", type=_positive, help="the most tokens")
    how.add_argument("--budget-usd", metavar="USD", type=_amount, help="the most US dollars")
    how.add_argument("--seed", metavar="N", type=_whole, help="for models that take one")
    how.add_argument("--run-id", metavar="ID", help="what to call the run (default: made up)")
    _add_out(solve)


def _add_out(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--out", metavar="FILE", help="where to write the program; - for standard output"
    )


def _add_models(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    summary = "list the models, fetch the embedded one's weights, or have a word with one"
    models = commands.add_parser(
        "models", help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    models.add_argument("--json", action="store_true", help="write JSON instead of text")
    actions = models.add_subparsers(dest="action", metavar="ACTION")

    def action(name: str, summary: str) -> argparse.ArgumentParser:
        sub = actions.add_parser(name, help=summary, description=summary.capitalize() + ".")
        sub.add_argument(
            "--json",
            action="store_true",
            default=argparse.SUPPRESS,
            help="write JSON instead of text",
        )
        return sub

    action("list", "say which models can be asked (the default)")
    action("pull", "fetch the embedded model's weights, or the rest of them")
    action("verify", "check the embedded model's weights to the last byte")
    ask = action("ask", "ask a model one thing, off the record: to see that it answers")
    ask.add_argument("text", metavar="TEXT", help="what to ask; - reads standard input")
    ask.add_argument("--model", metavar="MODEL", help=_MODEL_HELP)
    ask.add_argument(
        "--max-tokens",
        metavar="N",
        type=_positive,
        default=500,
        help="the longest answer (default: 500)",
    )


def _add_form(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--as",
        dest="form",
        choices=["text", "markdown", "csv", "json", "html"],
        default="text",
        help="how to write the tables (default: text); html is one page with charts",
    )
    command.add_argument("--out", metavar="FILE", help="where to write (default: standard output)")


def _add_bench(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    summary = "compare methods on suites: run them, recorded, judged and resumable"
    bench = commands.add_parser(
        "bench", help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    bench.add_argument("--json", action="store_true", help="write JSON instead of text")
    actions = bench.add_subparsers(dest="action", metavar="ACTION")
    listed = actions.add_parser("list", help="say which suites and methods there are (the default)")
    listed.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="write JSON instead of text"
    )
    report = actions.add_parser("report", help="compare everything that was run and judged")
    _add_form(report)
    report.add_argument("--store", metavar="STORE", help=_STORE_HELP)
    report.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="write JSON instead of text"
    )
    run = actions.add_parser(
        "run",
        help="run methods on a suite; what is done already is not done again",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("suite", metavar="SUITE", help="a suite's name; `bench list` has them")
    run.add_argument(
        "--methods", metavar="A,B", help="the methods, with commas (default: auditcoder)"
    )
    run.add_argument(
        "--ids", metavar="A,B", help="problems, or @SAMPLE (default: the suite's own choice)"
    )
    run.add_argument("--first", metavar="N", type=_positive, help="only the first N of them")
    _add_asking(run)
    _add_data(run)
    run.add_argument(
        "--budget-tokens", metavar="N", type=_positive, help="the most tokens for each run"
    )
    run.add_argument("--engine", choices=["local", "dask"], default="local")
    run.add_argument("--address", metavar="ADDRESS", help="of the Dask scheduler")
    run.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="write JSON instead of text"
    )


def _add_data(parser: argparse.ArgumentParser) -> None:
    """Say where data is taken from, and how much is done with it at a time."""
    parser.add_argument(
        "--data", metavar="FOLDER", help="a local copy of the data (default: fetched from its home)"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_positive, default=1, help="how many at once (default: 1)"
    )


def _add_asking(parser: argparse.ArgumentParser) -> None:
    """Say which model is asked in many runs, how they go on, and where they are kept."""
    parser.add_argument("--model", metavar="MODEL", help=_MODEL_HELP)
    _add_repairing(parser)
    parser.add_argument("--seed", metavar="N", type=_whole, help="for models that take one")
    parser.add_argument(
        "--recall",
        metavar="STORE",
        help="ask nothing again that this store's runs were answered: to compare, say, locators",
    )
    parser.add_argument("--store", metavar="STORE", help=_STORE_HELP)


def _add_repairing(parser: "argparse._ActionsContainer") -> None:
    parser.add_argument(
        "--max-repairs",
        metavar="K",
        type=_whole,
        default=3,
        help="the most repair transactions (default: 3)",
    )
    parser.add_argument(
        "--fallback",
        action="store_true",
        help="where no boundary is supported, plan and write the whole again, once",
    )
    parser.add_argument(
        "--locator",
        choices=["weighed", "paper-rules", "traceback", "ochiai", "tarantula", "dstar"],
        default="weighed",
        help="who says which part is at fault (default: weighed, by all evidence)",
    )
    parser.add_argument(
        "--no-second-opinions",
        dest="second_opinions",
        action="store_false",
        help="never ask for another implementation to see which part is at fault",
    )
    parser.add_argument(
        "--second-opinions-by",
        metavar="MODEL",
        help="have another model write them: what one gets wrong, another may get right",
    )


def _add_faults(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    summary = "failures with ground truth: make them, look at them, and see which locator is right"
    faults = commands.add_parser(
        "faults", help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    actions = faults.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser(
        "build",
        help="run published classes, and find the methods that make them fail; resumable",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    build.add_argument("out", metavar="OUT", help="the file to write, a line of JSON a failure")
    _add_data(build)
    build.add_argument("--models", metavar="A,B", help="only these models, with commas")
    build.add_argument("--json", action="store_true", help="write JSON instead of text")
    inject = actions.add_parser(
        "inject", help="put faults into solved programs and classes, and keep what fails"
    )
    inject.add_argument("out", metavar="OUT", help="the file to write, a line of JSON a failure")
    inject.add_argument(
        "--classes", action="store_true", help="into published classes that pass, too"
    )
    inject.add_argument(
        "--runs",
        metavar="STORE",
        help="into the runs of a store that ended well with several parts, too",
    )
    inject.add_argument(
        "--pins", metavar="FILE", help="also write by which digests these failures are known"
    )
    _add_data(inject)
    inject.add_argument("--json", action="store_true", help="write JSON instead of text")
    look = actions.add_parser(
        "look", help="let every collector look at failures with known causes; resumable"
    )
    look.add_argument("faults", metavar="FAULTS", help="what `build` or `inject` wrote")
    look.add_argument("out", metavar="OUT", help="the file to write what was noticed to")
    look.add_argument(
        "--view",
        choices=["program", "all"],
        default="program",
        help="the tests that are seen: those of the whole, as in use (the default), or all",
    )
    look.add_argument(
        "--spoiled",
        metavar="SHARE",
        type=_share,
        default=0.0,
        help="put faults into this share of the second opinions on programs, too (default: 0)",
    )
    look.add_argument(
        "--opinions",
        metavar="N",
        type=_positive,
        help="of real failures: try so many others' methods, as chance has it"
        " (default: the three that most agree on)",
    )
    look.add_argument(
        "--runs", metavar="STORE", help="the store of the runs that faults were put into, if any"
    )
    _add_data(look)
    look.add_argument("--json", action="store_true", help="write JSON instead of text")
    study = actions.add_parser(
        "study", help="compare every locator on what `look` wrote, by cross-validation over tasks"
    )
    study.add_argument("noticed", metavar="NOTICED", nargs="+", help="what `look` wrote")
    study.add_argument("--weights", metavar="FILE", help="also fit weights on all of it")
    study.add_argument(
        "--held-out",
        metavar="FAULTS",
        action="append",
        default=[],
        help="also say how weights do on these failures that are fitted on all others (and"
        " are those of --weights, if it is given); several times for several files",
    )
    _add_tables(study)
    judge = actions.add_parser(
        "judge", help="say how the locator does as it is on what `look` wrote; nothing is fitted"
    )
    judge.add_argument("noticed", metavar="NOTICED", nargs="+", help="what `look` wrote")
    _add_tables(judge)
    repair = actions.add_parser(
        "repair",
        help="let runs begin with injected faults, and a model repair them; resumable",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    repair.add_argument("faults", metavar="FAULTS", help="what `inject` wrote")
    repair.add_argument(
        "--each",
        metavar="N",
        type=_positive,
        default=1,
        help="so many faults of each program, chosen by chance (default: 1)",
    )
    _add_asking(repair)
    repair.add_argument(
        "--jobs", metavar="N", type=_positive, default=1, help="how many at once (default: 1)"
    )
    repair.add_argument("--json", action="store_true", help="write JSON instead of text")


def _add_tables(parser: argparse.ArgumentParser) -> None:
    """Let tables be written in any form, to anywhere."""
    parser.add_argument(
        "--as",
        dest="form",
        choices=["text", "markdown", "json", "csv"],
        default="text",
        help="default: text",
    )
    parser.add_argument("--out", metavar="FILE", help="where to write it (default: here)")
    parser.add_argument("--json", action="store_true", help="the same as --as json")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError("give a whole number from 1 on")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("give a whole number from 0 on")
    return int(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < 1e9:
        raise argparse.ArgumentTypeError("give a number above 0")
    return amount


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError("give a number from 0 to 1")
    return share


def _named(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; name a run or a bundle")
    return text


def _digest(text: str) -> str:
    digest = text.strip().lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise argparse.ArgumentTypeError(
            "give the 64 hexadecimal digits that `export --as head` printed"
        )
    return digest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        options = _parser().parse_args(arguments)
        return _run(options)
    except KeyboardInterrupt:
        return 130


def _run(options: argparse.Namespace) -> int:
    from auditcoder.domain.errors import AuditCoderError
    from auditcoder.interfaces.cli.exits import Exit, exit_for
    from auditcoder.interfaces.cli.text import finish_output, prepare_output

    prepare_output()
    try:
        module = import_module(f"auditcoder.interfaces.cli.{options.command}_command")
        code: int = module.run(options)
        finish_output()
    except AuditCoderError as error:
        _report(error.code, str(error), error.advice, as_json=options.json)
        return exit_for(error)
    except Exception as error:
        if "AUDITCODER_DEBUG" in os.environ:
            raise
        _report(
            "internal",
            f"this is a fault of auditcoder's own: {type(error).__name__}: {error}",
            "nothing was altered; please report it, with what AUDITCODER_DEBUG=1 prints",
            as_json=options.json,
        )
        return Exit.INTERNAL
    return code


def _report(code: str, message: str, advice: str, *, as_json: bool) -> None:
    from auditcoder.interfaces.cli.text import plain

    if sys.stderr is None:
        return
    if as_json:
        import json

        said = json.dumps({"error": {"code": code, "message": message, "advice": advice}}) + "\n"
    else:
        said = f"auditcoder: {plain(message)} [{code}]\n"
        if advice:
            said += f"  {plain(advice)}\n"
    with contextlib.suppress(OSError):  # nobody listens; the exit code speaks
        sys.stderr.write(said)
        sys.stderr.flush()
