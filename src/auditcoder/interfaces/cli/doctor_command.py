"""`doctor`: what this machine has, what is missing, and how to get it."""

import os
import platform
import statistics
import time
from argparse import Namespace
from importlib import metadata
from importlib.util import find_spec

from auditcoder.adapters.models import weights
from auditcoder.adapters.sandboxes.local import LocalSandbox
from auditcoder.adapters.sandboxes.strength import Strength, remedies, strength_of
from auditcoder.domain.errors import AuditCoderError, SandboxError
from auditcoder.domain.execution import Execution, RunProgram
from auditcoder.domain.values import Value
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import emit_json, paint, say, without_password
from auditcoder.interfaces.settings import config_path, exposed_keys, read_settings
from auditcoder.interfaces.sources import default_store

_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY")


class Finding(Value):
    """One thing that was looked at."""

    what: str
    state: str
    """ok, weaker or missing."""
    about: str
    remedy: str = ""


def run(options: Namespace) -> int:
    """Look at everything and report."""
    findings = [_python(), *_sandbox(), _engine(), _weights(), _providers(), _keys(), *_settings()]
    if options.json:
        emit_json({"findings": findings})
    else:
        for finding in findings:
            _tell(finding)
    missing = {finding.what for finding in findings if finding.state == "missing"}
    if "sandbox" in missing:
        return Exit.SANDBOX
    if "settings" in missing:
        return Exit.UNREADABLE
    return Exit.MODEL if "engine" in missing else Exit.OK


def _tell(finding: Finding) -> None:
    colour = {"ok": "green", "weaker": "yellow", "missing": "red"}[finding.state]
    say(f"{paint(finding.state.ljust(8), colour)} {finding.what.ljust(10)} {finding.about}")
    if finding.remedy:
        say(f"{' ' * 20}{paint(finding.remedy, 'dim')}")


def _python() -> Finding:
    about = f"{platform.python_version()} on {platform.system()} {platform.release()}"
    return Finding(what="python", state="ok", about=about)


def _sandbox() -> list[Finding]:
    try:
        with LocalSandbox() as sandbox:
            speed = _milliseconds(sandbox)
            kind, missing = sandbox.kind, sandbox.missing
    except SandboxError as error:
        return [Finding(what="sandbox", state="missing", about=str(error), remedy=error.advice)]
    strength = strength_of(kind)
    state = {Strength.FULL: "ok", Strength.PARTIAL: "weaker", Strength.BARE: "missing"}[strength]
    found = [
        Finding(
            what="sandbox",
            state=state,
            about=f"{strength.value}: {kind}, {speed:.1f} ms a run",
            remedy="; ".join(remedies()) if state != "ok" else "",
        )
    ]
    for wall, why in missing.items():
        found.append(Finding(what=f"  {wall}", state="weaker", about=why))
    return found


def _milliseconds(sandbox: LocalSandbox) -> float:
    execution = Execution(source="print(1)", action=RunProgram())
    times = []
    for _ in range(20):
        started = time.perf_counter()
        sandbox.run(execution)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def _engine() -> Finding:
    if find_spec("xllamacpp") is None:
        remedy = "pip install xllamacpp; or use another model with --model provider:name"
        return Finding(
            what="engine", state="missing", about="xllamacpp is not installed", remedy=remedy
        )
    return Finding(what="engine", state="ok", about=f"xllamacpp {metadata.version('xllamacpp')}")


def _weights() -> Finding:
    path = weights.find(weights.QWEN, weights.folder())
    if path is None:
        return Finding(
            what="weights",
            state="weaker",
            about=f"{weights.QWEN.name} is not here yet; it is fetched at first use",
            remedy="`auditcoder models pull` fetches it now",
        )
    return Finding(what="weights", state="ok", about=str(path))


def _providers() -> Finding:
    if find_spec("pydantic_ai") is None:
        return Finding(
            what="providers",
            state="weaker",
            about="only the embedded model can be asked",
            remedy="pip install 'auditcoder[providers]' for OpenAI, Anthropic, Google and servers",
        )
    version = metadata.version("pydantic-ai-slim")
    return Finding(what="providers", state="ok", about=f"pydantic-ai-slim {version}")


def _keys() -> Finding:
    """Name keys, never show them."""
    present = [name for name in _KEYS if os.environ.get(name)]
    return Finding(what="keys", state="ok", about=", ".join(present) or "none in the environment")


def _settings() -> list[Finding]:
    path = config_path()
    try:
        settings = read_settings()
    except AuditCoderError as error:
        return [Finding(what="settings", state="missing", about=str(error), remedy=error.advice)]
    about = f"{path if path.exists() else 'no file, all defaults'}; model {settings.model}"
    found = [Finding(what="settings", state="ok", about=about)]
    if exposed_keys(settings, path):
        found.append(
            Finding(
                what="  keys",
                state="weaker",
                about=f"{path} holds a key and others can read it",
                remedy=f"chmod 600 {path}",
            )
        )
    found.append(Finding(what="store", state="ok", about=without_password(default_store())))
    return found
