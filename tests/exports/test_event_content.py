"""An event is shown with all the content that it refers to, whatever its bytes are."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from auditcoder.adapters.stores.bundle import BundleFile
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import NotFound
from auditcoder.domain.events import CheckRan
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.targets import AtNode
from auditcoder.domain.values import CheckId
from auditcoder.exports.event_content import event_content
from auditcoder.lifecycle.ports import Sandbox
from tests.support.draft_runs import program_run
from tests.support.record_builders import RUN, S2, code, started
from tests.support.records import take
from tests.support.scripted_runs import sandboxed

BUNDLES = sorted((Path(__file__).parents[1] / "data" / "runs").glob("*.acb"))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.stem)
def test_every_blob_of_every_event_is_part_of_its_content(path: Path) -> None:
    with closing(BundleFile(path)) as bundle:
        record = take(bundle, bundle.manifest.run)
        for number, event in enumerate(record.events()):
            shown = event_content(record.run, record.bodies, number, bundle.blob)
            assert shown.event == number
            texts = {c.digest: c.text for c in shown.content}
            for name in event.blobs():
                assert texts[name] == bundle.blob(name).decode()


def test_an_event_about_drafts_has_their_code_inputs_outputs_and_program(
    sandbox: Sandbox,
) -> None:
    record = program_run(sandbox).raw
    names: dict[str, set[str]] = {}
    for number, event in enumerate(record.events()):
        shown = event_content(record.run, record.bodies, number, record.blob)
        texts = {content.digest: content.text for content in shown.content}
        assert event.blobs() == tuple(
            n for n in event.blobs() if record.blob(n).decode() == texts[n]
        )
        names.setdefault(shown.kind, set()).update(content.name for content in shown.content)
    assert names["drafts_committed"] == {"inputs"}
    assert names["draft_written"] == {"parts[0].code"}
    assert names["variant_tried"] == {
        "program",
        "outputs",
        *(f"results.{check}.observed" for check in ("example-1", "example-2", "derived-1")),
    }


@pytest.mark.parametrize("number", [-1, 2, 10**9])
def test_an_unknown_event_is_reported_with_the_range(number: int) -> None:
    with closing(SqliteStore(":memory:")) as store:
        started(store)
        with pytest.raises(NotFound, match=f"no event {number}") as missing:
            event_content(RUN, store.read(RUN), number, store.blob)
    assert missing.value.code == "event.unknown"
    if number > 0:
        assert missing.value.advice == "its events are numbered from 0 to 1"


def test_bytes_that_are_not_text_are_kept_as_base64() -> None:
    with closing(SqliteStore(":memory:")) as store:
        recorder = started(store)
        recorder.write_code(S2, code("S2"))
        name = recorder.put(b"\xff\xfe")
        evidence = Evidence(
            check=CheckId("S2.binary"),
            kind=CheckKind.EXAMPLE,
            subject=AtNode(node=S2),
            trust=Trust.GENERATED,
            verdict=Verdict.FAILED,
            against=recorder.ledger.working.code[S2].digest,
            observed=name,
            exit_code=0,
            judge="test",
        )
        recorder.record(CheckRan(evidence=evidence))
        last = store.head(RUN).entries - 1
        shown = event_content(RUN, store.read(RUN), last, store.blob)
    (binary,) = (c for c in shown.content if c.digest == name)
    assert (binary.text, binary.base64, binary.size) == (None, "//4=", 2)
