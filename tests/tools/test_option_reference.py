"""The table of options in the configuration reference is written from the declarations."""

import subprocess
import sys
from pathlib import Path

from auditcoder.lifecycle.options import option_specs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "configuration.md"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tools" / "option_reference.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_committed_table_is_current() -> None:
    done = run("--check")
    assert done.returncode == 0, done.stderr


def test_a_stale_table_is_found_and_rewritten(tmp_path: Path) -> None:
    page = tmp_path / "configuration.md"
    page.write_text(PAGE.read_text(encoding="utf-8").replace("`AUDITCODER_SEED`", "`SEED`"))
    assert run("--check", "--page", page).returncode == 1
    assert run("--page", page).returncode == 0
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


def test_every_option_is_listed_with_its_flag_and_variable() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for spec in option_specs():
        assert f"| `{spec.name}` | `{spec.flag}`" in page
        assert f"`{spec.variable}`" in page
