"""`doctor` reports what this machine has and what is missing."""

import json
from pathlib import Path

from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.commands import run_as_user

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
