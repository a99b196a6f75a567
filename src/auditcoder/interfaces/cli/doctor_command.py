"""`doctor`: report which components work on this machine, and how to get the others."""

import os
import platform
import statistics
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec

from auditcoder.adapters.addresses import without_secrets
from auditcoder.adapters.models import weights
from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.adapters.sandboxes.isolation import Strength, remedies, strength_of
from auditcoder.domain.errors import AuditCoderError, SandboxError
from auditcoder.domain.execution import Execution, RunProgram
from auditcoder.domain.values import Value
from auditcoder.interfaces.cli.command import Command
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import emit_json, paint, say_table
from auditcoder.interfaces.record_sources import default_store
from auditcoder.interfaces.settings import config_path, exposed_keys, read_settings

_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY")


class DoctorFinding(Value):
    """The state of one component."""

    what: str
    state: str
    """ok, weaker or missing."""
    about: str
    remedy: str = ""


class DoctorArguments(Value):
    """The arguments of `doctor`."""

    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `doctor` to its parser."""
    # It has the common flags only.
    del parser


def run(options: DoctorArguments) -> int:
    """Examine every component and report."""
    findings = [_python(), *_sandbox(), _engine(), _weights(), _providers(), _keys(), *_settings()]
    if options.json:
        emit_json({"findings": findings})
    else:
        say_table(row for finding in findings for row in _rows(finding))
    missing = {finding.what for finding in findings if finding.state == "missing"}
    if "sandbox" in missing:
        return Exit.SANDBOX
    if "settings" in missing:
        return Exit.UNREADABLE
    return Exit.MODEL if "engine" in missing else Exit.OK


def _rows(finding: DoctorFinding) -> Iterator[tuple[str, str, str]]:
    colour = {"ok": "green", "weaker": "yellow", "missing": "red"}[finding.state]
    yield paint(finding.state, colour), finding.what, finding.about
    if finding.remedy:
        yield "", "", paint(finding.remedy, "dim")


def _python() -> DoctorFinding:
    about = f"{platform.python_version()} on {platform.system()} {platform.release()}"
    return DoctorFinding(what="python", state="ok", about=about)


def _sandbox() -> list[DoctorFinding]:
    try:
        with LocalSandbox() as sandbox:
            speed = _milliseconds(sandbox)
            kind, missing = sandbox.kind, sandbox.missing
    except SandboxError as error:
        return [
            DoctorFinding(what="sandbox", state="missing", about=str(error), remedy=error.advice)
        ]
    strength = strength_of(kind)
    state = {Strength.FULL: "ok", Strength.PARTIAL: "weaker", Strength.BARE: "missing"}[strength]
    findings = [
        DoctorFinding(
            what="sandbox",
            state=state,
            about=f"{strength.value}: {kind}, {speed:.1f} ms per run",
            remedy="; ".join(remedies()) if state != "ok" else "",
        )
    ]
    for layer, why in missing.items():
        findings.append(DoctorFinding(what=f"  {layer}", state="weaker", about=why))
    return findings


def _milliseconds(sandbox: LocalSandbox) -> float:
    execution = Execution(source="print(1)", action=RunProgram())
    times = []
    for _ in range(20):
        started = time.perf_counter()
        sandbox.run(execution)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def _engine() -> DoctorFinding:
    if find_spec("xllamacpp") is None:
        remedy = "pip install xllamacpp; or use another model with --model provider:name"
        return DoctorFinding(
            what="engine", state="missing", about="xllamacpp is not installed", remedy=remedy
        )
    return DoctorFinding(
        what="engine", state="ok", about=f"xllamacpp {metadata.version('xllamacpp')}"
    )


def _weights() -> DoctorFinding:
    path = weights.find(weights.QWEN, weights.folder())
    if path is None:
        return DoctorFinding(
            what="weights",
            state="weaker",
            about=f"{weights.QWEN.name} is not installed yet; it is downloaded at first use",
            remedy="`auditcoder models pull` downloads it now",
        )
    return DoctorFinding(what="weights", state="ok", about=str(path))


def _providers() -> DoctorFinding:
    if find_spec("pydantic_ai") is None:
        return DoctorFinding(
            what="providers",
            state="weaker",
            about="only the embedded model is available",
            remedy="pip install 'auditcoder[providers]' for OpenAI, Anthropic, Google and servers",
        )
    version = metadata.version("pydantic-ai-slim")
    return DoctorFinding(what="providers", state="ok", about=f"pydantic-ai-slim {version}")


def _keys() -> DoctorFinding:
    """Report which keys are set, without their values."""
    present = [name for name in _KEYS if os.environ.get(name)]
    return DoctorFinding(
        what="keys", state="ok", about=", ".join(present) or "none in the environment"
    )


def _settings() -> list[DoctorFinding]:
    path = config_path()
    try:
        settings = read_settings()
    except AuditCoderError as error:
        return [
            DoctorFinding(what="settings", state="missing", about=str(error), remedy=error.advice)
        ]
    about = f"{path if path.exists() else 'no file, all defaults'}; model {settings.model}"
    findings = [DoctorFinding(what="settings", state="ok", about=about)]
    if exposed_keys(settings, path):
        findings.append(
            DoctorFinding(
                what="  keys",
                state="weaker",
                about=f"{path} holds a key, and other users can read it",
                remedy=f"chmod 600 {path}",
            )
        )
    findings.append(DoctorFinding(what="store", state="ok", about=without_secrets(default_store())))
    return findings


COMMAND = Command(DoctorArguments, declare, run)
