"""Every error has an exit code, and every code is documented."""

import re
from pathlib import Path

from auditcoder.domain.errors import AuditCoderError, RecordRefused, ReplayDiverged
from auditcoder.domain.laws import Law
from auditcoder.interfaces.cli.exit_codes import Exit, exit_for

ROOT = Path(__file__).parents[3]


def test_every_kind_of_error_has_its_exit_code() -> None:
    def kinds(kind: type[AuditCoderError]) -> list[type[AuditCoderError]]:
        return [kind, *(k for below in kind.__subclasses__() for k in kinds(below))]

    for kind in kinds(AuditCoderError):
        code = exit_for(kind("code", "message"))
        assert code in set(Exit) - {Exit.OK}
        assert (code is Exit.DOES_NOT_HOLD) is issubclass(kind, ReplayDiverged)


def test_an_event_that_breaks_a_law_is_refused_with_exit_code_6() -> None:
    refused = RecordRefused(f"law.{Law.SECOND_OWNER.value}", "two owners")
    assert exit_for(refused).value == 6


def test_the_exit_codes_are_documented() -> None:
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    for code in Exit:
        assert f"| {code.value} |" in page


def test_every_error_code_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    kinds = (
        "run|node|line|program|record|bundle|store|blob|chain|head|file|output"
        "|model|reply|replay|weights|budget|sandbox|config|task|method|suite|problem|sample|data|engine"
        "|judge|bench|faults"
    )
    pattern = re.compile(rf'"((?:{kinds})\.(?!py|md|toml)[a-z-]+)"')
    used = {
        code
        for path in (ROOT / "src").rglob("*.py")
        for code in pattern.findall(path.read_text(encoding="utf-8"))
    }
    assert len(used) > 25
    assert not {code for code in used if f"`{code}`" not in page}
