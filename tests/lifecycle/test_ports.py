"""The ports: every one has a conformance suite, and the shipped adapters implement them."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from auditcoder.adapters.models.embedded import EmbeddedModel
from auditcoder.adapters.models.manual import ManualModel
from auditcoder.adapters.models.provider import ProviderModel
from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.adapters.stores.bundle import BundleFile
from auditcoder.adapters.stores.postgres import PostgresStore
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.lifecycle.ports import JudgedStore, Model, Sandbox, TraceReader, TraceStore

ADAPTERS: list[tuple[type, type]] = [
    (Model, EmbeddedModel),
    (Model, ManualModel),
    (Model, ProviderModel),
    (Model, ScriptedModel),
    (Sandbox, LocalSandbox),
    (JudgedStore, SqliteStore),
    (JudgedStore, PostgresStore),
    (TraceReader, BundleFile),
]


def members(port: type) -> dict[str, Callable[..., object] | property]:
    return {
        name: value
        for kind in port.__mro__
        for name, value in vars(kind).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, property))
    }


@pytest.mark.parametrize(("port", "adapter"), ADAPTERS, ids=lambda kind: kind.__name__)
def test_an_adapter_has_every_member_with_the_parameters_of_its_port(
    port: type, adapter: type
) -> None:
    for name, declared in members(port).items():
        if isinstance(declared, property):
            continue  # an attribute may implement it; the conformance suites read it
        implemented = inspect.signature(getattr(adapter, name)).parameters
        for parameter in inspect.signature(declared).parameters:
            assert parameter in implemented, f"{adapter.__name__}.{name}({parameter})"


@pytest.mark.parametrize(
    ("port", "suite"), [(Model, "model"), (Sandbox, "sandbox"), (TraceStore, "trace_store")]
)
def test_a_port_has_a_conformance_suite(port: type, suite: str) -> None:
    text = (Path(__file__).parents[1] / "conformance" / f"{suite}.py").read_text()
    for name in members(port):
        assert f".{name}" in text, f"{suite} never uses {port.__name__}.{name}"
