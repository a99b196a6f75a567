"""Runs the planted bugs with a scripted model that answers honestly, and writes the results.

    python benchmarks/planted.py [--out FILE]

No model is used, so the results depend on the program alone. `tools/results.py` writes the page.
"""

import argparse
import json
import platform
from pathlib import Path

import msgspec

from auditcoder import __version__
from auditcoder.interfaces.factories import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.options import AutoSwitch, Options, Planner
from auditcoder_bench.faultbench.planted_bugs import BUGS
from auditcoder_bench.faultbench.planted_runs import Setting, run_planted

RESULTS = Path(__file__).parent / "results" / "planted.json"
DEFAULT = "the default"
ALTERNATIVES = {
    "`--adjudication off`": Options(planner=Planner.SKETCH, adjudication=AutoSwitch.OFF),
    "`--edge-cases off`": Options(planner=Planner.SKETCH, edge_cases=AutoSwitch.OFF),
}
"""Options that are compared with the default, for bugs that only a generated case shows and for
right programs."""


def main() -> None:
    """Run every bug in every setting, then those that the alternatives are compared on."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    out = parser.parse_args().out
    sandbox = open_sandbox(read_settings(), print)
    rows = []
    jobs = [(DEFAULT, Options(planner=Planner.SKETCH), setting) for setting in Setting]
    jobs += [
        (name, options, setting)
        for name, options in ALTERNATIVES.items()
        for setting in (Setting.GENERATED, Setting.RIGHT_CASE)
    ]
    for name, options, setting in jobs:
        for bug in BUGS:
            result = run_planted(bug, setting, sandbox, options)
            row = {"options": name, **msgspec.to_builtins(result), "silent": result.silent}
            print(f"{name}, {setting.value}, {bug.program}: {result.outcome}", flush=True)
            rows.append(row)
    content = {
        "version": __version__,
        "python": platform.python_version(),
        "sandbox": sandbox.kind,
        "goals": {"located": 19, "repaired": 19, "not silent": 15, "changed": 2},
        "rows": rows,
    }
    sandbox.close()
    out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
