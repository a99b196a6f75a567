"""`doctor` reports what this machine has and what is missing."""

import json
import os
import subprocess
import sys
from pathlib import Path

from auditcoder.adapters.sandboxes.isolation import remedies
from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.commands import run_as_user
from tests.support.weaker_machines import UNSHARE, refusing

KEY = "sk-1029384756abcdef"


def test_a_complete_machine_is_reported_without_its_keys(home: Path) -> None:
    result = run_as_user(home, "doctor", OPENAI_API_KEY=KEY)
    assert result.code == Exit.OK
    assert "full: user+pid+ipc+net+uts+mount+landlock+seccomp+rlimits" in result.out
    assert "OPENAI_API_KEY" in result.out
    assert KEY not in result.out
    assert "models pull" in result.out


def test_findings_are_written_as_json(home: Path) -> None:
    findings = json.loads(run_as_user(home, "doctor", "--json").out)["findings"]
    states = {finding["what"]: finding["state"] for finding in findings}
    assert states["sandbox"] == "ok"
    assert states["weights"] == "weaker"


def test_an_invalid_configuration_is_a_finding(home: Path) -> None:
    (home / "c.toml").write_text("modle = 1")
    result = run_as_user(home, "doctor", AUDITCODER_CONFIG=str(home / "c.toml"))
    assert "modle" in result.out
    assert result.code == Exit.UNREADABLE


def test_a_machine_without_namespaces_is_reported_with_what_is_missing(home: Path) -> None:
    code = f"{refusing(UNSHARE)}from auditcoder.interfaces.cli.main import main\nmain()\n"
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor", "--json"],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    findings = {each["what"]: each for each in json.loads(done.stdout)["findings"]}
    sandbox = findings["sandbox"]
    assert sandbox["state"] == "weaker"
    assert "partial: landlock+seccomp+rlimits" in sandbox["about"]
    assert sandbox.get("remedy", "") == "; ".join(remedies())
    assert "not permitted" in findings["  namespaces"]["about"]
