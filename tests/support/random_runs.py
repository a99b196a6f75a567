"""Random runs: every action of a lifecycle, in any order that the laws allow."""

from collections.abc import Callable

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.assembly import AssemblyConflict
from auditcoder.domain.brief import Approach, Brief
from auditcoder.domain.events import (
    Adjudicated,
    BriefCommitted,
    CheckDropped,
    ExceptionRaised,
    GraphCommitted,
    GraphRevised,
    Manifest,
    Opinion,
    ReplyRecorded,
    Ruling,
    RunFinished,
    RunOutcome,
    RunResumed,
)
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.graph import GraphDelta, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId, child_of
from auditcoder.domain.laws import open_doubts
from auditcoder.domain.laws.check_laws import LOADS
from auditcoder.domain.laws.draft_laws import compared, variant
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.repair import IntegrationException, TransactionKind
from auditcoder.domain.targets import AtBranch, AtInterface, AtNode, AtNodes, Target
from auditcoder.domain.usage import Phase, Scope, Usage
from auditcoder.lifecycle.recorder import Recorder
from tests.support.draft_builders import (
    codes,
    draft_of,
    plan_of,
    trial_of,
    whole,
    write_choice,
)
from tests.support.draft_builders import drafting as drafting_of
from tests.support.record_builders import (
    ROOT_NODE,
    RUN,
    SPECIAL,
    TASK,
    check_branch,
    check_node,
    check_program,
    code,
    locate,
    node,
    observe_node,
    plan_check,
    ticking,
)

conclusive = st.sampled_from([v for v in Verdict if v.conclusive])
of_branches = st.sampled_from([*(v for v in Verdict if v not in SPECIAL), Verdict.VACUOUS])
picks = st.integers(min_value=0, max_value=10_000)


def when(holds: Callable[[Ledger], bool]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A rule that applies only where the ledger allows."""
    return precondition(lambda self: not self.ledger.finished and holds(self.ledger))


def planned(ledger: Ledger) -> bool:
    return ledger.working.graph is not None


def free(ledger: Ledger) -> bool:
    return planned(ledger) and ledger.transaction is None


def drafts_bind(ledger: Ledger) -> bool:
    """Whether drafts decide about the code: there is no program yet."""
    return ledger.drafting is not None and not ledger.assembled


def may_choose(ledger: Ledger) -> bool:
    drafting = compared(ledger)
    return drafting is not None and bool(drafting.drafts)


def has_choice(ledger: Ledger) -> bool:
    drafting = ledger.drafting
    return (
        drafts_bind(ledger)
        and drafting is not None
        and drafting.chosen is not None
        and drafting.chosen.versions.keys() <= ledger.working.code.keys()
    )


def may_write(ledger: Ledger) -> bool:
    may_change = ledger.transaction is not None or not ledger.assembled
    return planned(ledger) and may_change and not drafts_bind(ledger)


def may_assemble(ledger: Ledger) -> bool:
    complete = planned(ledger) and set(ledger.graph.leaves) <= set(ledger.working.code)
    return complete and (may_write(ledger) or has_choice(ledger))


def fails(ledger: Ledger) -> bool:
    return (
        free(ledger)
        and ledger.working.assembly is not None
        and any(s.verdict.failing and s.kind.judges for s in ledger.working.evidence.values())
    )


def has_candidate(ledger: Ledger) -> bool:
    """Whether there is a program that a check can be about."""
    assembly, transaction = ledger.working.assembly, ledger.transaction
    return assembly is not None and (transaction is None or assembly.program != transaction.program)


class RandomRun(RuleBasedStateMachine):
    """Performs random legal actions on one run; a subclass checks the record in `teardown`."""

    def __init__(self) -> None:
        super().__init__()
        self.store = SqliteStore(":memory:")
        self.recorder = Recorder.start(self.store, RUN, TASK, ticking())

    @property
    def ledger(self) -> Ledger:
        return self.recorder.ledger

    def some_node(self, pick: int, within: frozenset[NodeId] | None = None) -> NodeId:
        nodes = sorted(self.ledger.graph.ids if within is None else within)
        return nodes[pick % len(nodes)]

    def writable(self) -> frozenset[NodeId]:
        transaction = self.ledger.transaction
        return self.ledger.graph.ids & transaction.region if transaction else self.ledger.graph.ids

    # Planning

    @initialize(
        shape=st.lists(picks, min_size=1, max_size=6),
        brief=st.booleans(),
        losses=st.lists(st.just("a constant was dropped"), max_size=2),
        slots=st.sampled_from([0, 0, 0, 2, 3, 4]),
        inputs=st.integers(0, 2),
    )
    def plan(
        self, shape: list[int], brief: bool, losses: list[str], slots: int, inputs: int
    ) -> None:
        if brief:
            self.recorder.record(BriefCommitted(brief=Brief(approach=Approach(strategy="plainly"))))
        ids: list[NodeId] = [ROOT]
        nodes = []
        for pick in shape:
            parent = ids[pick % len(ids)]
            new = child_of(parent, ids)
            ids.append(new)
            nodes.append(node(new, parent))
        parents = {n.parent for n in nodes}
        wired = [
            msgspec.structs.replace(n, dependencies=tuple(c.id for c in nodes if c.parent == n.id))
            for n in nodes
        ]
        root = msgspec.structs.replace(
            ROOT_NODE, dependencies=tuple(n.id for n in nodes if n.parent == ROOT)
        )
        order = tuple(n.id for n in nodes if n.id not in parents)
        graph = TaskGraph(nodes=(root, *wired), order=order)
        self.recorder.record(GraphCommitted(graph=graph, losses=tuple(losses)))
        if slots:
            self.plan_drafts(slots, inputs)

    def plan_drafts(self, count: int, inputs: int) -> None:
        """Plan drafts of every node below the root; the root may have code, and a check beside."""
        if inputs:
            self.recorder.write_code(ROOT, code(ROOT), agent="form")
            plan_check(self.recorder, "generated-4")
        nodes = sorted(self.ledger.graph.ids - {ROOT})
        given = [str(n) for n in range(inputs)]
        self.recorder.record(plan_of(self.recorder, nodes, count, given))

    @when(
        lambda ledger: (
            (free(ledger) and compared(ledger) is None)
            or (
                ledger.transaction is not None
                and ledger.transaction.kind is TransactionKind.FALLBACK
            )
        )
    )
    @rule(text=st.text(max_size=8))
    def revise_the_brief(self, text: str) -> None:
        brief = Brief(approach=Approach(strategy=text))
        self.recorder.record(BriefCommitted(brief=brief, reason="seen differently"))

    # Building

    @when(planned)
    @rule(pick=picks, rejected=st.booleans(), tokens=st.integers(0, 500))
    def ask_a_model(self, pick: int, rejected: bool, tokens: int) -> None:
        self.recorder.record(
            ReplyRecorded(
                role="math",
                scope=Scope.REPAIR if self.ledger.assembled else Scope.INITIAL,
                phase=Phase.GENERATION,
                request=self.recorder.put(f"request {pick}"),
                reply=self.recorder.put(f"reply {pick}"),
                node=self.some_node(pick),
                usage=Usage(calls=1, completion_tokens=tokens, unpriced=1),
                rejected="not code" if rejected else "",
            )
        )

    @when(may_write)
    @rule(pick=picks, value=st.integers(0, 99), extra=st.sampled_from(["", "helper", "import"]))
    def write_code(self, pick: int, value: int, extra: str) -> None:
        name = self.some_node(pick, self.writable())
        source = code(name, f"return x + {value}")
        if extra == "helper":
            source += f"\n\ndef helper():\n    return {value}\n"
        if extra == "import":
            source = "import math\n" + source
        self.recorder.write_code(name, source, agent="math", reply=self.reply_with(name, source))

    def reply_with(self, name: NodeId, source: str) -> int:
        return self.recorder.record(
            ReplyRecorded(
                role="math",
                scope=Scope.REPAIR if self.ledger.assembled else Scope.INITIAL,
                phase=Phase.GENERATION,
                request=self.recorder.put(f"code of {name}"),
                reply=self.recorder.put(f"```python\n{source}```\n"),
                node=name,
                usage=Usage(calls=1),
            )
        )

    @when(lambda ledger: free(ledger) and not ledger.assembled and not drafts_bind(ledger))
    @rule(pick=picks, other=picks)
    def write_for_another_while_building(self, pick: int, other: int) -> None:
        parent = self.some_node(pick)
        child = self.some_node(other, self.ledger.graph.ids - {parent})
        self.raise_exception(parent, child)
        self.recorder.write_code(child, code(child, "return 7"), cause=parent)

    @when(may_write)
    @rule(value=st.integers(0, 99))
    def build_what_is_missing(self, value: int) -> None:
        for name in sorted(self.writable() - frozenset(self.ledger.working.code)):
            self.recorder.write_code(name, code(name, f"return x - {value}"), agent="math")
        if may_assemble(self.ledger):
            self.recorder.assemble()

    # Drafting

    @when(lambda ledger: compared(ledger) is not None)
    @rule(
        skipped=st.integers(0, 1),
        extra=st.sampled_from(["", "", "shared", "stub", "losses", "clash"]),
    )
    def write_a_draft(self, skipped: int, extra: str) -> None:
        drafting = compared(self.ledger)
        assert drafting is not None
        slot = max(drafting.drafts, default=0) + 1 + skipped
        if slot > len(drafting.slots):
            return
        nodes = sorted(drafting.nodes)
        drafted = codes(self.ledger.seq, nodes)
        if extra == "shared" and ROOT in self.ledger.working.code:
            drafted = {ROOT: f"LIMIT = {slot}\n{code(ROOT)}"} | drafted
        if extra == "clash":
            for node, name in zip(nodes, ("floor", "ceil"), strict=False):
                drafted[node] = f"from math import {name} as size\n\nsize(1)\n" + drafted[node]
        stubs = nodes[1:2] if extra == "stub" else []
        for node in stubs:
            drafted[node] = code(node, "raise NotImplementedError('missing')").replace(
                "x: int) -> int", "x)"
            )
        event = draft_of(self.recorder, slot, drafted, stubs=stubs)
        if extra == "losses":
            first, *others = event.parts
            first = msgspec.structs.replace(first, losses=("a constant",), note="it was cut")
            event = msgspec.structs.replace(event, parts=(first, *others))
        self.recorder.record(event)

    @when(may_choose)
    @rule(
        picks_of_nodes=st.lists(picks, min_size=7, max_size=7),
        is_whole=st.booleans(),
        verdicts=st.lists(conclusive, min_size=3, max_size=3),
        output=st.sampled_from(["0", "1", None]),
    )
    def try_a_variant(
        self,
        picks_of_nodes: list[int],
        is_whole: bool,
        verdicts: list[Verdict],
        output: str | None,
    ) -> None:
        drafting = compared(self.ledger)
        assert drafting is not None
        slots = sorted(drafting.drafts)
        versions = {
            node: slots[pick % len(slots)]
            for node, pick in zip(sorted(drafting.nodes), picks_of_nodes, strict=False)
        }
        if is_whole:
            versions = whole(self.recorder, slots[picks_of_nodes[0] % len(slots)])
        self.try_out(versions, verdicts, output)

    def try_out(
        self, versions: dict[NodeId, int], verdicts: list[Verdict], output: str | None
    ) -> None:
        drafting = compared(self.ledger)
        assert drafting is not None
        known = any(versions == tried.versions for tried in drafting.tried)
        if not known and variant(self.ledger, versions, self.recorder.read) is not None:
            outputs = [output] * drafting.inputs
            self.recorder.record(trial_of(self.recorder, versions, *verdicts, outputs=outputs))

    @when(lambda ledger: compared(ledger) is not None)
    @rule(
        verdicts=st.lists(conclusive, min_size=3, max_size=3),
        output=st.sampled_from("01"),
        decided=st.booleans(),
    )
    def try_two_drafts(self, verdicts: list[Verdict], output: str, decided: bool) -> None:
        for verdict in verdicts[:2]:
            self.write_a_draft(0, "")
            drafting = compared(self.ledger)
            if drafting and drafting.drafts:
                self.try_out(whole(self.recorder, max(drafting.drafts)), [verdict], output)
        if decided and may_choose(self.ledger):
            self.choose(verdicts[2], assembled=True)

    @when(may_choose)
    @rule(verdict=conclusive, assembled=st.booleans())
    def choose(self, verdict: Verdict, assembled: bool) -> None:
        drafting = compared(self.ledger)
        assert drafting is not None
        for slot in drafting.drafts:
            self.try_out(whole(self.recorder, slot), [verdict], "0")
        if compared(self.ledger) and drafting_of(self.recorder).tried:
            write_choice(self.recorder)
            if assembled:
                self.recorder.assemble()

    @when(lambda ledger: compared(ledger) is not None and ledger.seq > 12)
    @rule()
    def give_up_on_drafts(self) -> None:
        drafting = compared(self.ledger)
        assert drafting is not None
        if drafting.tried or any(
            variant(self.ledger, whole(self.recorder, slot), self.recorder.read)
            for slot in drafting.drafts
        ):
            return
        for name in sorted(drafting.nodes):
            stub = f"def f_{name}(x):\n    raise NotImplementedError('missing')\n"
            self.recorder.write_code(name, stub, agent="degraded")
        self.recorder.assemble()

    @when(may_assemble)
    @rule()
    def assemble(self) -> None:
        try:
            self.recorder.assemble()
        except AssemblyConflict:
            raise AssertionError("these bundles never clash") from None

    # Validating

    @when(lambda ledger: bool(ledger.working.code))
    @rule(pick=picks, verdict=st.sampled_from([Verdict.PASSED, Verdict.FAILED, Verdict.NOT_RUN]))
    def observe_a_node(self, pick: int, verdict: Verdict) -> None:
        coded = self.writable() & frozenset(self.ledger.working.code)
        if coded:
            observe_node(self.recorder, self.some_node(pick, coded), verdict)

    @when(lambda ledger: bool(ledger.working.code))
    @rule(
        pick=picks,
        verdict=st.sampled_from(Verdict),
        trust=st.sampled_from([Trust.DERIVED, Trust.GENERATED]),
    )
    def check_a_node(self, pick: int, verdict: Verdict, trust: Trust) -> None:
        coded = self.writable() & frozenset(self.ledger.working.code)
        if (
            coded
            and f"{(name := self.some_node(pick, coded))}.{trust.value}" not in self.ledger.dropped
        ):
            check_node(self.recorder, name, verdict, trust)

    @when(planned)
    @rule(pick=picks, verdict=of_branches)
    def check_a_branch(self, pick: int, verdict: Verdict) -> None:
        root = self.some_node(pick)
        branch = self.ledger.graph.subtree(root)
        if branch <= self.writable() and branch & set(self.ledger.working.code):
            check_branch(self.recorder, root, verdict)

    @when(has_candidate)
    @rule(pick=picks, verdict=conclusive)
    def check_the_program(self, pick: int, verdict: Verdict) -> None:
        names = sorted({LOADS, *self.ledger.program_checks()})
        check_program(self.recorder, names[pick % len(names)], verdict)

    @when(lambda ledger: free(ledger) and compared(ledger) is None)
    @rule(number=st.integers(1, 3))
    def plan_a_check(self, number: int) -> None:
        name = f"generated-{number}"
        if name not in self.ledger.dropped:
            plan_check(self.recorder, name)

    @when(lambda ledger: has_candidate(ledger) and ledger.transaction is not None)
    @rule()
    def pass_every_pinned_check(self) -> None:
        assert self.ledger.transaction is not None
        for check in self.ledger.transaction.pinned:
            check_program(self.recorder, check, Verdict.PASSED)

    @when(lambda ledger: bool(open_doubts(ledger)))
    @rule(pick=picks, ruling=st.sampled_from(Ruling))
    def rule_on_a_failing_check(self, pick: int, ruling: Ruling) -> None:
        failing = open_doubts(self.ledger)
        check = failing[pick % len(failing)]
        answers = sorted(self.ledger.answers)
        reply = answers[pick % len(answers)] if answers else None
        self.recorder.record(
            Adjudicated(
                check=check,
                evidence=self.ledger.working.evidence[check].seq,
                ruling=ruling,
                reason="both sides were compared",
                opinions=(
                    Opinion(source="statement", ruling=ruling, reason="it says so"),
                    Opinion(source="model", ruling=ruling, reason="as it says", reply=reply),
                ),
            )
        )

    @when(
        lambda ledger: (
            bool(ledger.working.evidence)
            and ledger.transaction is None
            and compared(ledger) is None
        )
    )
    @rule(pick=picks)
    def drop_a_check(self, pick: int) -> None:
        standing = self.ledger.working.evidence
        wrong = sorted(check for check, s in standing.items() if s.trust is Trust.GENERATED)
        if wrong:
            self.recorder.record(CheckDropped(check=wrong[pick % len(wrong)], reason="wrong"))

    # Locating and repairing

    @when(lambda ledger: free(ledger) and ledger.working.assembly is not None)
    @rule(verdict=st.sampled_from([v for v in Verdict if v.failing]))
    def fail(self, verdict: Verdict) -> None:
        check_program(self.recorder, "example-1", verdict)

    @when(fails)
    @rule(pick=picks, other=picks, how=st.sampled_from(["node", "nodes", "branch", "interface"]))
    def locate_and_open(self, pick: int, other: int, how: str) -> None:
        self.run_missing_checks()
        one, two = self.some_node(pick), self.some_node(other)
        target: dict[str, Target] = {
            "node": AtNode(node=one),
            "nodes": AtNodes(nodes=(one, two)),
            "branch": AtBranch(root=one),
            "interface": AtInterface(provider=one, consumer=two),
        }
        locate(self.recorder, target[how])
        self.recorder.open_transaction()

    def run_missing_checks(self) -> None:
        for check in self.ledger.program_checks():
            if check not in self.ledger.working.evidence:
                check_program(self.recorder, check, Verdict.FAILED)

    @when(fails)
    @rule(fallback=st.booleans())
    def abstain(self, fallback: bool) -> None:
        self.run_missing_checks()
        locate(self.recorder, None)
        if fallback:
            self.recorder.open_transaction(TransactionKind.FALLBACK)

    @when(lambda ledger: ledger.transaction is not None)
    @rule(pick=picks, other=picks)
    def widen(self, pick: int, other: int) -> None:
        frozen = self.ledger.graph.ids - self.writable()
        if frozen:
            parent, child = self.some_node(pick, self.writable()), self.some_node(other, frozen)
            self.raise_exception(parent, child)

    def raise_exception(self, parent: NodeId, child: NodeId) -> None:
        self.recorder.record(
            ExceptionRaised(
                exception=IntegrationException(
                    parent=parent, child=child, rationale="shapes differ", region=(child,)
                )
            )
        )

    @when(lambda ledger: ledger.transaction is not None)
    @rule(pick=picks, how=st.sampled_from(["hint", "add", "retire"]))
    def replan(self, pick: int, how: str) -> None:
        graph, name = self.ledger.graph, self.some_node(pick, self.writable())
        old = graph.by_id[name]
        if how == "hint":
            hinted = msgspec.structs.replace(old, hints=(*old.hints, "mind the edges"))
            delta = GraphDelta(revised=(hinted,), order=graph.order)
        elif how == "add":
            new = child_of(name, self.ledger.allocated)
            parent = msgspec.structs.replace(old, dependencies=(*old.dependencies, new))
            order = (new, *(i for i in graph.order if i != name))
            delta = GraphDelta(added=(node(new, name),), revised=(parent,), order=order)
        else:
            above = old.parent
            if name not in graph.leaves or above not in self.writable() or above == ROOT:
                return
            parent = graph.by_id[above]
            left = tuple(d for d in parent.dependencies if d != name)
            parent = msgspec.structs.replace(parent, dependencies=left)
            order = tuple(i for i in graph.order if i != name)
            if graph.children[above] == (name,):
                order = (*order, above)
            delta = GraphDelta(revised=(parent,), retired=(name,), order=order)
        self.recorder.record(GraphRevised(delta=delta, reason="replanned"))

    @when(lambda ledger: ledger.transaction is not None)
    @rule()
    def decide(self) -> None:
        self.recorder.decide("measured")

    @when(lambda ledger: ledger.transaction is not None)
    @rule(pick=picks)
    def repair_well(self, pick: int) -> None:
        """Write new code that passes every check; it is accepted if the rank could improve."""
        name = self.some_node(pick, self.writable())
        self.recorder.write_code(name, code(name, f"return x * {self.ledger.seq}"))
        self.build_what_is_missing(self.ledger.seq)
        if has_candidate(self.ledger):
            self.pass_every_pinned_check()
        self.recorder.decide("measured")

    # Resuming and finishing

    @when(planned)
    @rule()
    def resume(self) -> None:
        self.recorder = Recorder.resume(self.store, RUN, ticking())
        self.recorder.record(RunResumed(manifest=Manifest(method="resumed")))

    @when(lambda ledger: free(ledger) and ledger.seq > 25)
    @rule()
    def finish(self) -> None:
        working = self.ledger.working
        full = working.rank(self.ledger.program_checks()).full
        self.recorder.record(
            RunFinished(
                outcome=RunOutcome.PASSED if full else RunOutcome.STOPPED,
                program=working.assembly.program if working.assembly else None,
                doubts=open_doubts(self.ledger) if full else (),
            )
        )

    @precondition(lambda self: self.ledger.finished)
    @rule()
    def rest(self) -> None:
        """Do nothing: no event may follow the end of a run."""

    def teardown(self) -> None:
        self.store.close()
