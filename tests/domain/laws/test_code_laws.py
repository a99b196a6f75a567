"""The laws of building: the recorder refuses each illegal event, and verification finds it."""

import contextlib

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.assembly import AssemblyConflict, Segment, assemble, build_order
from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.errors import RecordRefused
from auditcoder.domain.events import (
    Assembled,
    CodeWritten,
    ExceptionRaised,
    GraphCommitted,
    GraphRevised,
)
from auditcoder.domain.graph import GraphDelta, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws import Law
from auditcoder.domain.python_names import MODULE_NAMES
from auditcoder.domain.repair import TransactionKind
from auditcoder.domain.targets import AtBranch, AtNode
from auditcoder.domain.task import main_block
from auditcoder.domain.usage import Phase, Scope
from auditcoder.domain.values import digest
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.recorder import Recorder
from tests.support.histories import add_s1_2, assert_illegal, exception, reply, started_at, written
from tests.support.record_builders import (
    GRAPH,
    ROOT_NODE,
    RUN,
    S1,
    S1_1,
    S2,
    TASK,
    built,
    code,
    failing,
    failing_with,
    locate,
    node,
    repairing,
    started,
)
from tests.support.records import forge, take

replace = msgspec.structs.replace

METHODS = TaskGraph(
    nodes=(replace(ROOT_NODE, contract=None, dependencies=()), node("S1"), node("S2")),
    order=(S1, S2),
)
"""A class: the root has the class statement, S1 and S2 have a method each."""


def method(name: str, before: str = "") -> str:
    """The method of the node called `name`, after other code."""
    return f"{before}def f_{name}(self, x):\n    return x\n"


def assembling(recorder: Recorder) -> Assembled:
    """The event of an assembly that the assembler makes."""
    working = recorder.ledger.working
    draft = assemble(recorder.ledger.graph, working.code, working.bundles)
    return Assembled(program=recorder.put(draft.text), segments=draft.segments)


def with_class(store: SqliteStore, root: str = "class C:\n    pass\n") -> Recorder:
    """A run whose root has a class, and S1 a method of it."""
    recorder = started(store, METHODS)
    recorder.write_code(ROOT, root)
    recorder.write_code(S1, method("S1", "import math\n\n"), scope="C")
    return recorder


class TestIdsComeBeforeCode:
    def test_code_for_an_uncommitted_node_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        event = written(recorder, NodeId("S9"), code("S9"))
        assert_illegal(recorder, event, Law.CODE_BEFORE_ID)

    def test_code_before_any_graph_is_refused(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        event = written(recorder, S1, code("S1"))
        assert_illegal(recorder, event, Law.CODE_BEFORE_ID)

    def test_a_code_request_before_any_graph_is_refused(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        assert_illegal(recorder, reply(recorder, phase=Phase.GENERATION), Law.CODE_BEFORE_ID)

    def test_code_generated_before_its_node_id_is_refused(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        early = recorder.record(reply(recorder, phase=Phase.PLANNING))
        recorder.record(GraphCommitted(graph=GRAPH))
        event = written(recorder, S2, code("S2"), reply=early)
        assert_illegal(recorder, event, Law.CODE_BEFORE_ID)

    def test_the_root_may_take_its_body_from_the_sketch_that_planned_it(
        self, store: SqliteStore
    ) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        sketch = recorder.record(reply(recorder, Phase.PLANNING, code(ROOT)))
        recorder.record(GraphCommitted(graph=GRAPH))
        recorder.record(written(recorder, ROOT, code(ROOT), reply=sketch))

    @pytest.mark.parametrize(
        ("source", "phase", "law"),
        [
            ("LIMIT = 3\n", Phase.PLANNING, None),
            ("class Item:\n    size = 3\n", Phase.PLANNING, None),
            ("LIMIT = 3\ndef late(): ...\n", Phase.PLANNING, Law.CODE_BEFORE_ID),
        ],
    )
    def test_a_plan_has_the_definitions_of_a_node_without_a_contract_and_no_function(
        self, store: SqliteStore, source: str, phase: Phase, law: Law | None
    ) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        sketch = recorder.record(reply(recorder, phase, source))
        bare = [replace(n, contract=None) if n.id == S2 else n for n in GRAPH.nodes]
        recorder.record(GraphCommitted(graph=replace(GRAPH, nodes=tuple(bare))))
        event = written(recorder, S2, source, reply=sketch)
        if law is None:
            recorder.record(event)
        else:
            assert_illegal(recorder, event, law)

    def test_code_that_is_not_in_the_reply_that_it_names_is_refused(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        seq = recorder.record(reply(recorder, text=f"```python\n{code('S2')}```"))
        other = written(recorder, S2, code("S2", "return -x"), reply=seq)
        assert_illegal(recorder, other, Law.MISDECLARED)
        recorder.record(written(recorder, S2, f"import math\n\n{code('S2')}", reply=seq))

    def test_the_root_also_has_the_main_block_of_its_task(self, store: SqliteStore) -> None:
        recorder = started(store)
        seq = recorder.record(reply(recorder, text=code(ROOT)))
        main = main_block(TASK.form)
        recorder.record(written(recorder, ROOT, f"{code(ROOT)}\n{main}", reply=seq))
        assert_illegal(
            recorder, written(recorder, S2, f"{code('S2')}\n{main}", reply=seq), Law.MISDECLARED
        )

    def test_the_root_keeps_its_code_when_helpers_are_added_before_it(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        recorder.record(written(recorder, ROOT, code(ROOT)))
        seq = recorder.record(reply(recorder, text="def helper():\n    return 1\n"))
        helper = "def helper():\n    return 1\n"
        recorder.record(written(recorder, ROOT, f"{helper}\n\n{code(ROOT)}", reply=seq))

    def test_code_from_a_rejected_reply_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        bad = recorder.record(replace(reply(recorder), rejected="no code in it"))
        assert_illegal(recorder, written(recorder, S2, code("S2"), reply=bad), Law.MISDECLARED)

    def test_blank_code_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert_illegal(recorder, written(recorder, S2, "\n"), Law.MISDECLARED)


class TestOneOwner:
    def test_a_name_that_another_node_owns_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2") + "def helper():\n    return 1\n")
        event = written(recorder, S1_1, code("S1_1") + "def helper():\n    return 2\n")
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    def test_the_writer_renames_a_colliding_helper_instead(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2") + "def helper():\n    return 1\n")
        recorder.write_code(S1_1, code("S1_1") + "def helper():\n    return 2\n")
        owners = recorder.ledger.working.owners()
        assert owners["helper"] == S2
        assert owners["helper__S1_1"] == S1_1

    def test_a_name_that_another_node_promises_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        event = written(recorder, S1_1, code("S1_1") + code("S2"))
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    def test_a_method_that_another_node_promises_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store, METHODS)
        recorder.write_code(ROOT, "class C:\n    pass\n")
        both = written(recorder, S2, method("S2", method("S1")), scope="C")
        assert_illegal(recorder, both, Law.SECOND_OWNER)
        recorder.write_code(S1, "z = 1\n", scope="C")
        assert_illegal(recorder, both, Law.SECOND_OWNER)

    def test_a_method_of_another_class_is_not_the_promised_one(self, store: SqliteStore) -> None:
        recorder = started(store, METHODS)
        recorder.write_code(ROOT, "class C:\n    pass\n\n\nclass D:\n    pass\n")
        recorder.write_code(S1, method("S1"), scope="D")
        recorder.write_code(S2, method("S2", method("S1")), scope="C")
        recorder.assemble()

    def test_a_promised_method_cannot_be_that_of_the_class_statement(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store, METHODS)
        recorder.write_code(ROOT, "class C:\n    def f_S1(self, x): pass\n")
        recorder.write_code(S1, "z = 1\n", scope="C")
        recorder.write_code(S2, method("S2"), scope="C")
        assert_illegal(recorder, assembling(recorder), Law.SECOND_OWNER)

    def test_a_name_that_is_promised_later_must_be_given_up(self, store: SqliteStore) -> None:
        recorder = failing_with(store, {S1_1: "def helper():\n    return 1\n"})
        locate(recorder, AtBranch(root=S1))
        recorder.open_transaction()
        recorder.record(add_s1_2("helper"))
        new, source = NodeId("S1_2"), "def helper(): pass\n"
        units = units_of(read_bundle(source), new, "", frozenset({"helper"}))
        renamed = CodeWritten(node=new, code=recorder.put(source), units=units)
        assert_illegal(recorder, renamed, Law.SECOND_OWNER)
        recorder.write_code(new, "other = 1\n")
        assert_illegal(recorder, assembling(recorder), Law.SECOND_OWNER)
        recorder.write_code(S1_1, code("S1_1"))
        recorder.assemble()

    def test_units_that_differ_from_the_code_are_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        event = replace(written(recorder, S2, code("S2")), units=())
        assert_illegal(recorder, event, Law.MISDECLARED)


class TestAssembly:
    def test_a_program_that_differs_from_the_code_of_its_nodes_is_refused(
        self, store: SqliteStore
    ) -> None:
        recorder = built(store)
        recorder.assemble()
        honest = take(store, RUN).events()[-1]
        assert isinstance(honest, Assembled)
        text = recorder.text(honest.program).replace("return x", "return 0", 1)
        forged = Assembled(program=recorder.put(text), segments=honest.segments)
        assert_illegal(recorder, forged, Law.UNFAITHFUL_ASSEMBLY)

    def test_a_line_attributed_to_another_node_is_refused(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        honest = take(store, RUN).events()[-1]
        assert isinstance(honest, Assembled)
        lying = tuple(replace(s, node=S1) if s.node == S2 else s for s in honest.segments)
        assert_illegal(recorder, replace(honest, segments=lying), Law.UNFAITHFUL_ASSEMBLY)

    def test_lines_without_an_owner_are_refused(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        honest = take(store, RUN).events()[-1]
        assert isinstance(honest, Assembled)
        text = recorder.text(honest.program) + "print('surprise')\n"
        event = Assembled(program=recorder.put(text), segments=(*honest.segments, Segment(lines=1)))
        assert_illegal(recorder, event, Law.UNFAITHFUL_ASSEMBLY)

    def test_an_assembly_without_the_code_of_a_leaf_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2"))
        event = Assembled(
            program=recorder.put(code("S2")), segments=(Segment(lines=2, node=S2, source=1),)
        )
        assert_illegal(recorder, event, Law.UNFAITHFUL_ASSEMBLY)


class TestRegressions:
    """Illegal histories that an earlier version accepted."""

    def test_the_program_changes_only_in_a_transaction(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        event = Assembled(
            program=recorder.put(recorder.text(assembly.program) + "\n"),
            segments=(*assembly.segments, Segment(lines=1)),
        )
        assert_illegal(recorder, event, Law.FROZEN_CHANGED)

    @pytest.mark.parametrize(
        "hijack",
        [
            "if True:\n    def f_S2(x): return 'hijacked'\n",
            "for f_S2 in [None]: pass\n",
            "with open('x') as f_S2: pass\n",
            "try:\n    f_S2 = 1\nexcept Exception: pass\n",
            "while True:\n    f_S2 = 1\n    break\n",
            "(f_S2 := 1)\n",
            "match 1:\n    case f_S2: pass\n",
            "def q(a=(f_S2 := 1)): pass\n",
            "@(f_S2 := print)\ndef q(): pass\n",
            "class Q(f_S2 := object): pass\n",
            "[f_S2 := 1 for _ in (1,)]\n",
            "del f_S2\n",
            "def q():\n    global f_S2\n    f_S2 = 1\n",
            "try: pass\nexcept Exception as f_S2: pass\n",
            "a = 1; f_S2 = 2\n",
        ],
    )
    def test_another_node_cannot_bind_a_promised_name_indirectly(
        self, store: SqliteStore, hijack: str
    ) -> None:
        recorder = started(store)
        event = written(recorder, S1_1, code("S1_1") + hijack)
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize(
        "text",
        [
            "import os as f_S2; b = 1\n",
            "from operator import neg as f_S2\n",
            "try:\n    import json as f_S2\nexcept ImportError: pass\n",
        ],
    )
    def test_another_node_cannot_bind_a_promised_name_by_an_import(
        self, store: SqliteStore, text: str
    ) -> None:
        recorder = started(store)
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, code(name) if name != S1 else text + code("S1"))
        with pytest.raises(AssemblyConflict):
            recorder.assemble()
        working = recorder.ledger.working
        lines: list[str] = []
        segments: list[Segment] = []
        for name in build_order(recorder.ledger.graph, working.code):
            for part in working.bundles[name].body:
                piece = working.bundles[name].lines[part.first - 1 : part.last]
                lines.extend(piece)
                segments.append(Segment(lines=len(piece), node=name, source=part.first))
        for statement in working.bundles[S1].imports:
            lines.insert(0, statement)
            segments.insert(0, Segment(lines=1, asked=(S1,)))
        program = recorder.put("\n".join(lines) + "\n")
        event = Assembled(program=program, segments=tuple(segments))
        assert_illegal(recorder, event, Law.UNFAITHFUL_ASSEMBLY)

    @pytest.mark.parametrize(
        "source",
        [
            b"def f_S2(x):\r\n    return 1\r\n",
            b"# coding: latin-1\ndef f_S2(x):\n    return '\xff'\n",
            "\ufeffdef f_S2(x):\n    return 1\n".encode(),
            b"from math import *\ndef f_S2(x):\n    return 1\n",
            b"if True:\n    from math import *\ndef f_S2(x):\n    return 1\n",
        ],
    )
    def test_code_with_an_ambiguous_encoding_or_star_imports_is_refused(
        self, store: SqliteStore, source: bytes
    ) -> None:
        recorder = started(store)
        event = CodeWritten(node=S2, code=recorder.put(source), units=())
        assert_illegal(recorder, event, Law.MISDECLARED)

    @pytest.mark.parametrize(
        "source",
        [
            "from __future__ import annotations; x = 1\n",
            "x = 1; from __future__ import annotations\n",
            "if True:\n    from __future__ import annotations\n",
        ],
    )
    def test_an_import_from_the_future_has_a_line_of_its_own(
        self, store: SqliteStore, source: str
    ) -> None:
        recorder = started(store)
        assert_illegal(recorder, written(recorder, S2, source + code("S2")), Law.MISDECLARED)

    def test_a_bounded_repair_cannot_change_annotations_of_frozen_nodes(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        future = "from __future__ import annotations\n"
        recorder.write_code(S1_1, future + code("S1_1"))
        assert_illegal(recorder, assembling(recorder), Law.FROZEN_CHANGED)
        recorder.write_code(S1_1, "from __future__ import division\n" + code("S1_1"))
        recorder.assemble()

    def test_a_repair_of_every_node_may_change_annotations(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        recorder.write_code(S1_1, "from __future__ import annotations\n" + code("S1_1"))
        recorder.assemble()

    @pytest.mark.parametrize("after", ["", "from __future__ import annotations\n"])
    def test_a_node_may_keep_or_drop_an_import_from_the_future(
        self, store: SqliteStore, after: str
    ) -> None:
        recorder = failing_with(store, {S1_1: "from __future__ import annotations\n"})
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        recorder.write_code(S1_1, after + code("S1_1", "return 3"))
        recorder.assemble()

    def test_the_recorder_normalises_line_endings(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, "def f_S2(x):\r\n    return 1\r")
        assert recorder.ledger.working.owners() == {"f_S2": S2}

    def test_unparsable_code_cannot_absorb_the_code_of_another_node(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        sources = {S1_1: code("S1_1") + "a = '''\n", S1: "'''\n" + code("S1")}
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, sources.get(name, code(name)))
        with pytest.raises(RecordRefused) as refused:
            recorder.assemble()
        assert refused.value.code == "law.unfaithful-assembly"

    def test_a_method_assembled_outside_its_class_is_refused(self, store: SqliteStore) -> None:
        graph = TaskGraph(
            nodes=(replace(ROOT_NODE, contract=None, dependencies=()), node("S1")), order=(S1,)
        )
        recorder = started(store, graph)
        recorder.write_code(ROOT, "class C:\n  def a(self):\n    pass\n")
        recorder.write_code(S1, "def f_S1(self, x):\n    return x\n", scope="C")
        with pytest.raises(RecordRefused) as refused:
            recorder.assemble()
        assert refused.value.code == "law.unfaithful-assembly"

    def test_a_reply_for_one_node_cannot_become_code_of_another(self, store: SqliteStore) -> None:
        recorder = started(store)
        answer = recorder.record(replace(reply(recorder), node=S1))
        event = written(recorder, S2, code("S2"), reply=answer)
        assert_illegal(recorder, event, Law.BOUNDARY_CROSSED)

    def test_a_review_cannot_become_code(self, store: SqliteStore) -> None:
        recorder = started(store)
        answer = recorder.record(reply(recorder, phase=Phase.VERIFICATION))
        event = written(recorder, S2, code("S2"), reply=answer)
        assert_illegal(recorder, event, Law.MISDECLARED)

    @pytest.mark.parametrize("alone", [True, False], ids=["alone", "with others"])
    def test_a_second_opinion_may_become_code_of_its_own_node_only(
        self, store: SqliteStore, alone: bool
    ) -> None:
        recorder = failing(store)
        another = f"{code('S1_1')}\n# another\n"
        opinion = reply(recorder, Phase.VERIFICATION, another)

        def record_opinion(*nodes: NodeId) -> int:
            return recorder.record(
                replace(opinion, **{"node": nodes[0]} if alone else {"nodes": nodes})
            )

        older, newer, other = record_opinion(S1_1, S2), record_opinion(S1_1, S1), record_opinion(S2)
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        for seq, law in ((older, Law.MISDECLARED), (other, Law.BOUNDARY_CROSSED)):
            assert_illegal(recorder, written(recorder, S1_1, another, reply=seq), law)
        recorder.record(written(recorder, S1_1, another, reply=newer))
        assert recorder.ledger.working.code[S1_1].digest == recorder.put(another)

    def test_a_reply_about_an_uncommitted_node_is_refused(self, store: SqliteStore) -> None:
        recorder = failing(store)
        opinion = reply(recorder, phase=Phase.VERIFICATION)
        event = replace(opinion, nodes=(S2, NodeId("S9")))
        assert_illegal(recorder, event, Law.CODE_BEFORE_ID)

    @pytest.mark.parametrize(("parent", "child"), [(S2, S1), (S1_1, S1_1), (S2, S2)])
    def test_an_integration_exception_must_lead_out_of_the_region(
        self, store: SqliteStore, parent: NodeId, child: NodeId
    ) -> None:
        assert_illegal(repairing(store), exception(parent, child), Law.WRONG_REGION)

    def test_code_cannot_move_into_another_class(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2"))
        source = code("S2")
        event = written(recorder, S2, source, scope="C")
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_unpaired_surrogates_in_code_are_replaced(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2", "return '\ud800'"))
        assert verify_run(store, RUN).holds

    @pytest.mark.parametrize("mark", ["# coding: utf-7", "# -*- coding: utf_16 -*-"])
    def test_a_comment_cannot_declare_an_encoding(self, store: SqliteStore, mark: str) -> None:
        recorder = started(store)
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, f"{mark}\n" + code(name))
        program = recorder.assemble()
        assert recorder.text(program).startswith("\n\n")
        raw = take(store, RUN)
        bare = recorder.text(program).removeprefix("\n\n")
        honest = raw.events()[-1]
        assert isinstance(honest, Assembled)
        event = Assembled(program=digest(bare.encode()), segments=honest.segments[1:])
        forged = forge(raw, [*raw.events()[:-1], event], bare.encode())
        assert [f.code for f in forged.verify().findings] == ["law.unfaithful-assembly"]

    def test_the_code_of_two_nodes_cannot_be_interleaved(self, store: SqliteStore) -> None:
        recorder = started(store)
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, code(name) + (f"log_{name} = 1\n"))
        recorder.assemble()
        working = recorder.ledger.working
        raw = take(store, RUN)
        parts = [
            (name, part)
            for name in build_order(recorder.ledger.graph, working.code)
            for part in working.bundles[name].body
        ]
        parts.append(parts.pop(1))
        lines = [x for n, p in parts for x in working.bundles[n].lines[p.first - 1 : p.last]]
        text = "\n".join(lines) + "\n"
        segments = tuple(
            Segment(lines=p.last - p.first + 1, node=n, source=p.first) for n, p in parts
        )
        event = Assembled(program=digest(text.encode()), segments=segments)
        forged = forge(raw, [*raw.events()[:-1], event], text.encode())
        assert [f.code for f in forged.verify().findings] == ["law.unfaithful-assembly"]

    def test_an_added_blank_line_is_not_a_candidate(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        event = Assembled(
            program=recorder.put(recorder.text(assembly.program) + "\n"),
            segments=(*assembly.segments, Segment(lines=1)),
        )
        assert_illegal(recorder, event, Law.UNFAITHFUL_ASSEMBLY)

    @pytest.mark.parametrize("cause", ["S2", "S99"])
    def test_the_cause_of_code_must_be_a_node_of_the_region(
        self, store: SqliteStore, cause: str
    ) -> None:
        recorder = repairing(store)
        event = written(recorder, S1_1, code("S1_1", "return 3"), cause=NodeId(cause))
        law = Law.BOUNDARY_CROSSED if cause == "S2" else Law.MISDECLARED
        assert_illegal(recorder, event, law)

    def test_a_node_cannot_shadow_a_builtin_for_the_others(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2", "return sum([x])"))
        recorder.write_code(
            S1_1, code("S1_1", "return sum(x)") + "def sum(x):\n    return 'mine'\n"
        )
        assert recorder.ledger.working.owners()["sum__S1_1"] == S1_1
        source = code("S1_1") + "class sum: pass\n"
        event = CodeWritten(
            node=S1_1, code=recorder.put(source), units=units_of(read_bundle(source), S1_1)
        )
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize("use", ["pow(x, 2)", "\uff50ow(x, 2)"])
    def test_a_node_cannot_shadow_a_builtin_by_an_import(
        self, store: SqliteStore, use: str
    ) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2", f"return {use}"))
        for name in (S1_1, S1, ROOT):
            recorder.write_code(name, "from math import pow\n" + code(name))
        with pytest.raises(AssemblyConflict, match="pow"):
            recorder.assemble()

    def test_an_integration_exception_adds_only_the_child_to_the_region(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        wide = replace(exception(S1_1, S2).exception, region=(S1, S2))
        assert_illegal(recorder, ExceptionRaised(exception=wide), Law.WRONG_REGION)

    def test_the_scope_of_code_must_be_an_identifier(self, store: SqliteStore) -> None:
        recorder = started(store)
        with pytest.raises(RecordRefused):
            recorder.write_code(S2, code("S2"), scope="not one\n")

    def test_deeply_nested_code_reads_the_same_from_any_depth(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.write_code(S2, code("S2") + "v = " + "+".join(["1"] * 2500) + "\n")
        recorder.assemble()

        def deep(n: int) -> bool:
            if n:
                return deep(n - 1)
            read_bundle.cache_clear()
            return verify_run(store, RUN).holds

        assert deep(0)
        assert deep(700)

    def test_a_collision_in_deeply_nested_code_is_resolved_or_refused(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        recorder.write_code(S1_1, code("S1_1") + "h = 1\n")
        source = code("S2") + "h = 2\nv = " + "+".join(["h"] * 1500) + "\n"
        with contextlib.suppress(RecordRefused):
            recorder.write_code(S2, source)
        assert verify_run(store, RUN).holds


class TestOneOwnerHoweverItIsBound:
    """Names can be bound, and code replaced, in more ways than by a definition."""

    @pytest.mark.parametrize(
        "hijack",
        [
            "f_S2.__code__ = (lambda x: 0).__code__\n",
            "f_S2.__code__.spoiled = 1\n",
            "del f_S2.__defaults__\n",
            "for f_S2.__doc__ in 'a': pass\n",
            "with open('x') as f_S2.__code__: pass\n",
            "[0 for f_S2.__code__ in ()]\n",
            "(f_S2.__code__, a) = 1, 2\n",
            "f_S2.__kwdefaults__ |= {}\n",
            "def q():\n    f_S2.__code__ = 1\n",
            "class Q:\n    def m(self):\n        f_S2.__code__ = 1\n",
            "def q(f_S2):\n    def r():\n        global f_S2\n        f_S2.__code__ = 1\n",
        ],
    )
    def test_a_special_attribute_of_promised_code_cannot_be_set(
        self, store: SqliteStore, hijack: str
    ) -> None:
        recorder = started(store)
        event = written(recorder, S1_1, code("S1_1") + hijack)
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize(
        "hijack",
        [
            "C.m = None\n",
            "del C.m\n",
            "for C.m in (1,): pass\n",
            "with open('x') as C.m: pass\n",
            "C.__init__ = None\n",
            "def q():\n    C.m = None\n",
            "[[0 for C.m in ()] for _ in ()]\n",
            "[0 for a in () for b in [0 for C.m in ()]]\n",
            "[0 for a in () if [0 for C.m in ()]]\n",
            "[(lambda: [0 for C.m in ()])() for _ in ()]\n",
            "def q(a=lambda C: 0):\n    C.m = None\n",
            "def q(a: (lambda C: 0) = 1):\n    C.m = None\n",
            "def q():\n    [(lambda: (C := x)) for x in ()]\n    C.m = 2\n",
            "class A:\n    C.m = None\n    C = 1\n",
            "class A:\n    C = 1\n    del C\n    C.m = None\n",
            "class A:\n    C = 1\n    [0 for C.m in ()]\n",
            "def q(C):\n    class A:\n        global C\n        C.m = None\n",
            "(C if True else 0).m = None\n",
            "(0 or C).m = None\n",
            "(E := C).m = None\n",
            "[C][0].m = None\n",
            "C._C__p = None\n",
        ],
    )
    def test_a_member_of_another_nodes_class_cannot_be_set(
        self, store: SqliteStore, hijack: str
    ) -> None:
        recorder = started(store)
        methods = "    def m(self): pass\n\n    def __p(self): pass\n"
        recorder.write_code(S2, f"class C:\n{methods}\n\n{code('S2')}")
        event = written(recorder, S1_1, code("S1_1") + hijack)
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    def test_a_private_name_is_never_taken_as_local(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, f"class _A__C:\n    def m(self): pass\n\n\n{code('S2')}")
        hijack = "def q(__C):\n    class A:\n        __C.m = None\n"
        event = written(recorder, S1_1, code("S1_1") + hijack)
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize(
        ("defined", "hijack"),
        [
            ("if True:\n    class K:\n        def m(self): pass\n", "K.m = 1\n"),
            ("class K:\n    if True:\n        def m(self): pass\n", "K.m = 1\n"),
            ("class K:\n    from operator import neg as m\n", "K.m = 1\n"),
            ("class K:\n    class m: pass\n", "K.m.a = 1\n"),
            ("def q():\n    global K\n    class K:\n        def m(self): pass\n", "K.m = 1\n"),
            ("class C:\n    def m(self): pass\n\nclass D(C): pass\n", "D.m = 1\n"),
            ("class D(metaclass=M): pass\n\nclass E:\n    def m(self): pass\n", "D.m = 1\n"),
            ("class K:\n    pass\n", "K.__init__ = 1\n"),
            ("def q():\n    global h\n    def h(): pass\n", "h.__code__ = 1\n"),
        ],
    )
    def test_a_method_cannot_be_set_however_it_is_defined(
        self, store: SqliteStore, defined: str, hijack: str
    ) -> None:
        recorder = started(store)
        recorder.write_code(S2, f"{defined}\n\n{code('S2')}")
        event = written(recorder, S1_1, code("S1_1") + hijack)
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize(
        "hijack",
        [
            "C.f_S1 = None\n",
            "C.f_S1.__code__ = None\n",
            "del C.f_S1\n",
            "C._C__p = None\n",
            "C.g = None\n",
            "C.h = None\n",
            "C.Inner.a = None\n",
            "C.Other.a = None\n",
            "_C__made.__code__ = None\n",
        ],
    )
    def test_the_owner_of_a_class_cannot_set_methods_of_other_nodes(
        self, store: SqliteStore, hijack: str
    ) -> None:
        recorder = started(store, METHODS)
        before = (
            "def __p(self): pass\n\n"
            "if True:\n    def g(self): pass\n    from operator import neg as h\n"
            "    class Other: pass\n\n"
            "class Inner:\n    pass\n\n"
            "def make(self):\n    global __made\n    def __made(): pass\n\n"
        )
        recorder.write_code(S1, method("S1", before), scope="C")
        event = written(recorder, ROOT, f"class C:\n    pass\n\n\n{hijack}")
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize(
        "hijack",
        [
            "def B(self): pass\n\ndef set(self):\n    B.m = 1\n\n",
            "def B(self): pass\n\ndef set(self):\n    B.__init__ = 1\n\n",
            "B = object\nB.m = 1\n\n",
            "def set(self):\n    C.f_S1 = 1\n\n",
            "def set(self):\n    C.__p = 1\n\n",
            "def set(self):\n    __h.__code__ = 1\n\n",
            "class _:\n    __k.__code__ = 1\n\n",
        ],
    )
    def test_code_in_a_class_cannot_set_what_other_nodes_define(
        self, store: SqliteStore, hijack: str
    ) -> None:
        recorder = started(store, METHODS)
        root = "class C:\n    pass\n\n\nclass B:\n    def m(self): pass\n\n\n"
        recorder.write_code(ROOT, f"{root}def _C__h(): pass\n\n\ndef __k(): pass\n")
        recorder.write_code(S1, method("S1", "def __p(self): pass\n\n"), scope="C")
        event = written(recorder, S2, method("S2", hijack), scope="C")
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize(
        "own",
        [
            "C.limit = 3\n\n",
            "C.math = 3\n\n",
            "C = 3\n\n",
            "def set(self):\n    global made\n    def made(): pass\n    made.__doc__ = ''\n\n",
            "def set(self):\n    C.__seen = 3\n\n",
            "def set(self):\n    C.f_S2.calls = 3\n\n",
            "def __init__(self):\n    C.__init__.calls = 3\n\n",
            "def set(self, B):\n    B.m = 3\n\n",
            "def set(self):\n    self.f_S1 = 3\n\n",
            "class Part:\n    def m(self): pass\n\n    def set(self):\n        C.Part.m = 1\n\n",
        ],
    )
    def test_code_in_a_class_can_set_its_own_methods_and_shared_state(
        self, store: SqliteStore, own: str
    ) -> None:
        root = "class B:\n    def m(self): pass\n\n\nclass C(B):\n    limit = 1\n"
        recorder = with_class(store, root)
        recorder.write_code(S2, method("S2", own), scope="C")
        recorder.assemble()

    def test_a_local_class_of_another_node_has_no_methods_of_the_program(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        local = "def q():\n    global z\n    class K:\n        def m(self): pass\n"
        recorder.write_code(S2, f"{local}\n\n{code('S2')}")
        recorder.write_code(S1_1, f"class K:\n    pass\n\n\nK.m = None\n\n\n{code('S1_1')}")

    def test_a_node_that_is_written_again_may_set_what_it_defined_before(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        recorder.write_code(S2, f"class K:\n    def m(self): pass\n\n\n{code('S2')}")
        recorder.write_code(S2, f"class K:\n    pass\n\n\nK.m = None\n\n\n{code('S2')}")

    def test_a_helper_that_is_renamed_is_not_that_of_the_other_node(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        recorder.write_code(S2, f"{code('S2')}\n\ndef h(): pass\n")
        recorder.write_code(S1_1, f"{code('S1_1')}\n\ndef h(): pass\n\n\nh.__doc__ = ''\n")
        assert recorder.ledger.working.owners()["h__S1_1"] == S1_1

    def test_a_member_that_is_defined_later_cannot_be_set_either(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S1_1, f"{code('S1_1')}\n\ndef q():\n    C.m = None\n")
        recorder.write_code(S2, f"class C:\n    def m(self): pass\n\n\n{code('S2')}")
        for name in (S1, ROOT):
            recorder.write_code(name, code(name))
        with pytest.raises(AssemblyConflict, match=r"S1_1 sets C\.m"):
            recorder.assemble()

    @pytest.mark.parametrize(
        "own",
        [
            "def q(C):\n    C.m = None\n",
            "def q():\n    C = object()\n    C.m = None\n",
            "class D:\n    m = 1\nD.m = 2\n",
            "class D:\n    pass\nD.m = 2\n",
            "def q():\n    C.limit = 3\n",
            "def q():\n    C.count += 1\n",
            "C.count = 0\n",
            "def q():\n    from x import C\n    C.m = 3\n",
            "[0 for C in () for C.m in ()]\n",
            "[[0 for C.m in ()] for C in ()]\n",
            "def q(a, /, *C, b=lambda: 0):\n    C.m = 2\n",
            "def q():\n    [(C := x) for x in ()]\n    C.m = 2\n",
            "def q(C):\n    class A:\n        C.m = 2\n",
            "class A:\n    def q(self):\n        C.__count = 2\n",
            "import operator\noperator.__doc__ = ''\n",
            "def q():\n    return C.m\n",
        ],
    )
    def test_local_names_and_shared_state_can_be_set(self, store: SqliteStore, own: str) -> None:
        recorder = started(store)
        counting = "class C:\n    count = 0\n\n    def m(self): pass\n"
        counting += "\n\nclass Other:\n    def limit(self): pass\n"
        recorder.write_code(S2, f"{counting}\n\n{code('S2')}")
        recorder.write_code(S1_1, f"{code('S1_1')}\n\n{own}")
        for name in (S1, ROOT):
            recorder.write_code(name, code(name))
        recorder.assemble()

    def test_an_import_in_a_class_body_owns_its_name(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S1, f"class C:\n    from operator import neg as m\n\n\n{code('S1')}")
        source = "def m(self): pass\n"
        event = written(recorder, S2, source, scope="C")
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize(
        "unlifted",
        [
            "if True:\n    from operator import neg as f_S1\n\n",
            "y = 1; from operator import neg as f_S1\n\n",
            "from operator import pos as f_S1\nfrom operator import neg as f_S1\n\n",
        ],
    )
    def test_an_import_among_methods_cannot_bind_a_method_of_another_node(
        self, store: SqliteStore, unlifted: str
    ) -> None:
        recorder = with_class(store)
        event = written(recorder, S2, method("S2", unlifted), scope="C")
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize(
        "hijack",
        [
            "class A:\n    global __x\n    def __x(): pass\n",
            "class A:\n    def m(self):\n        global __x\n        __x = 1\n",
            "class A:\n    global __x\n    from os import getpid as __x\n",
        ],
    )
    def test_a_private_name_in_a_class_is_that_of_the_class(
        self, store: SqliteStore, hijack: str
    ) -> None:
        recorder = started(store)
        recorder.write_code(S2, f"{code('S2')}\n\ndef _A__x(): pass\n")
        event = written(recorder, S1_1, code("S1_1") + hijack)
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    def test_two_spellings_of_a_private_method_are_one_name(self, store: SqliteStore) -> None:
        recorder = started(store, METHODS)
        recorder.write_code(ROOT, "class C:\n    pass\n")
        private = "def __p(self):\n    return 1\n\n"
        recorder.write_code(S1, method("S1", private), scope="C")
        for spelt in (private, private.replace("__p", "_C__p")):
            event = written(recorder, S2, method("S2", spelt), scope="C")
            assert_illegal(recorder, event, Law.SECOND_OWNER)

    def test_a_method_cannot_bind_a_promised_name_by_global(self, store: SqliteStore) -> None:
        recorder = started(store)
        source = "def m(self):\n    global f_S2\n    f_S2 = 1\n"
        event = written(recorder, S1_1, source, scope="C")
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    def test_a_name_that_normalises_to_a_promised_one_is_that_name(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        hijack = "\N{FULLWIDTH LATIN SMALL LETTER F}_S2 = 1\n"
        event = written(recorder, S1_1, code("S1_1") + hijack)
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize("name", ["\N{FULLWIDTH LATIN SMALL LETTER F}_S2", "not a name"])
    def test_a_contract_promises_a_normalised_identifier(
        self, store: SqliteStore, name: str
    ) -> None:
        contract = GRAPH.by_id[S2].contract
        assert contract is not None
        other = replace(GRAPH.by_id[S2], contract=replace(contract, name=name))
        nodes = tuple(other if n.id == S2 else n for n in GRAPH.nodes)
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        event = GraphCommitted(graph=TaskGraph(nodes=nodes, order=GRAPH.order))
        assert_illegal(recorder, event, Law.GRAPH_INVALID)

    @pytest.mark.parametrize("name", sorted(MODULE_NAMES - {"__debug__"}))
    def test_names_of_the_interpreter_are_owned_by_no_node(
        self, store: SqliteStore, name: str
    ) -> None:
        recorder = started(store)
        event = written(recorder, S1_1, f"{code('S1_1')}\n\n{name} = {{}}\n")
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize("name", sorted(MODULE_NAMES - {"__debug__"}))
    @pytest.mark.parametrize(
        "statement", ["import operator as {}\n", "if True:\n    from operator import neg as {}\n"]
    )
    def test_names_of_the_interpreter_are_imported_by_no_node(
        self, store: SqliteStore, name: str, statement: str
    ) -> None:
        recorder = started(store)
        event = written(recorder, S1_1, f"{statement.format(name)}\n\n{code('S1_1')}")
        assert_illegal(recorder, event, Law.SECOND_OWNER)


class TestReplies:
    @pytest.mark.parametrize("assembled", [False, True])
    def test_a_call_is_for_a_repair_exactly_once_there_is_a_program(
        self, store: SqliteStore, assembled: bool
    ) -> None:
        recorder = failing(store) if assembled else started(store)
        other = Scope.INITIAL if assembled else Scope.REPAIR
        assert_illegal(recorder, replace(reply(recorder), scope=other), Law.MISDECLARED)

    def test_a_reply_ends_in_a_known_way(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert_illegal(recorder, replace(reply(recorder), finish="tired"), Law.MISDECLARED)

    def test_a_reply_names_a_node_once(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert_illegal(recorder, replace(reply(recorder), nodes=(S2, S2)), Law.MISDECLARED)

    def test_a_rejected_reply_is_the_source_of_no_code_although_it_holds_it(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        held = replace(reply(recorder, text=code("S2")), rejected="it has no block")
        event = written(recorder, S2, code("S2"), reply=recorder.record(held))
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_code_on_behalf_of_another_node_may_come_from_a_joint_reply(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        joint = recorder.record(reply(recorder, text=code("S2")))
        recorder.record(exception(S1, S2))
        recorder.record(written(recorder, S2, code("S2"), cause=S1, reply=joint))


class TestWriting:
    def test_star_imports_are_refused_although_the_units_match(self, store: SqliteStore) -> None:
        recorder = started(store)
        event = written(recorder, S2, "from math import *\n" + code("S2"))
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_the_same_code_again_keeps_its_author_and_its_program(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        before = recorder.ledger.working
        recorder.write_code(S1_1, code("S1_1"), agent="somebody else")
        assert recorder.ledger.working == before

    def test_no_node_causes_its_own_edit(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = written(recorder, S1_1, code("S1_1", "return 3"), cause=S1_1)
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_a_node_may_define_a_built_in_name_that_its_contract_promises(
        self, store: SqliteStore
    ) -> None:
        promising = node("S2")
        assert promising.contract is not None
        promising = replace(promising, contract=replace(promising.contract, name="sum"))
        nodes = (ROOT_NODE, node("S1"), promising)
        recorder = started(store, TaskGraph(nodes=nodes, order=(S1, S2)))
        recorder.write_code(S2, "def sum(x):\n    return x\n")
        assert recorder.ledger.working.owners()["sum"] == S2

    def test_another_order_of_the_graph_changes_the_program(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        delta = GraphDelta(order=(S2, S1_1))
        recorder.record(GraphRevised(delta=delta, reason="S2 comes first"))
        recorder.assemble()
        assert recorder.ledger.working.assembly is not None


class TestExceptionsBeforeAssembly:
    @pytest.mark.parametrize(("parent", "child"), [("S9", "S2"), ("S2", "S2")])
    def test_an_exception_is_between_two_nodes(
        self, store: SqliteStore, parent: str, child: str
    ) -> None:
        recorder = built(store)
        assert_illegal(recorder, exception(NodeId(parent), NodeId(child)), Law.WRONG_REGION)

    def test_an_exception_after_assembly_needs_a_transaction(self, store: SqliteStore) -> None:
        assert_illegal(failing(store), exception(S1, S2), Law.OUT_OF_PLACE)

    def test_an_exception_leads_to_a_frozen_node(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        assert_illegal(recorder, exception(S1, S1_1), Law.WRONG_REGION)

    def test_the_region_of_an_exception_names_a_node_once(self, store: SqliteStore) -> None:
        twice = replace(exception(S1, S2).exception, region=(S2, S2))
        assert_illegal(built(store), ExceptionRaised(exception=twice), Law.WRONG_REGION)
