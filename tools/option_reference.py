"""Writes the table of options in docs/reference/configuration.md from their declarations.

python tools/option_reference.py            write the table
python tools/option_reference.py --check    exit with 1 if the committed table differs
"""

import argparse
import sys
from pathlib import Path

from auditcoder.lifecycle.options import Options, option_specs, write_value

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "configuration.md"
BEGIN = "<!-- Written by tools/option_reference.py; do not edit. -->\n"
END = "<!-- End of the written part. -->\n"


def main() -> int:
    """Write or check the table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the table without writing it")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page with the table")
    arguments = parser.parse_args()
    text = arguments.page.read_text(encoding="utf-8")
    wanted = replace_table(text, option_table())
    if not arguments.check:
        arguments.page.write_text(wanted, encoding="utf-8")
        return 0
    if text != wanted:
        sys.stderr.write(f"{arguments.page} is stale; run 'python tools/option_reference.py'\n")
        return 1
    return 0


def option_table(declaration: type[Options] = Options) -> str:
    """Return the options as a Markdown table."""
    lines = ["| key | flag | variable | value | default | meaning |", "|---|---|---|---|---|---|"]
    for spec in option_specs(declaration):
        flag = f"`{spec.flag}`" + (f", `--no-{spec.flag[2:]}`" if spec.is_switch else "")
        default = "none" if spec.default is None else f"`{write_value(spec.default)}`"
        cells = (f"`{spec.name}`", flag, f"`{spec.variable}`", spec.expected, default)
        lines.append(f"| {' | '.join((*cells, spec.option.help))} |")
    return "\n".join(lines) + "\n"


def replace_table(text: str, table: str) -> str:
    """Return a page with its table replaced."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("the page lacks the markers of the table")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
