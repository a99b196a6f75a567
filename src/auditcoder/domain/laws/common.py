"""Definitions that the laws of all phases share."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NoReturn, TypeAlias

from auditcoder.domain.evidence import Trust
from auditcoder.domain.graph import Region, TaskGraph
from auditcoder.domain.ids import NodeId
from auditcoder.domain.ledger import CurrentCheck, Ledger, OpenTransaction, WorkingState
from auditcoder.domain.targets import AtBranch, AtNode, AtProgram, Subject
from auditcoder.domain.task import Task
from auditcoder.domain.values import CheckId, Digest

ReadBlob: TypeAlias = Callable[[Digest], bytes]
"""Returns the content of a blob by its digest."""


class Law(Enum):
    """The laws that an event can violate. The values are stable and documented."""

    OUT_OF_PLACE = "out-of-place"
    CODE_BEFORE_ID = "code-before-id"
    SECOND_OWNER = "second-owner"
    ID_REUSED = "id-reused"
    ID_REPURPOSED = "id-repurposed"
    GRAPH_INVALID = "graph-invalid"
    MISDECLARED = "misdeclared"
    UNFAITHFUL_ASSEMBLY = "unfaithful-assembly"
    STALE_EVIDENCE = "stale-evidence"
    FALSE_VERDICT = "false-verdict"
    UNSUPPORTED_DIAGNOSIS = "unsupported-diagnosis"
    WRONG_REGION = "wrong-region"
    FROZEN_CHANGED = "frozen-changed"
    BOUNDARY_CROSSED = "boundary-crossed"
    WRONG_DECISION = "wrong-decision"
    ROLLBACK_INCOMPLETE = "rollback-incomplete"
    UNEARNED_OUTCOME = "unearned-outcome"
    WRONG_DRAFT = "wrong-draft"


class IllegalHistory(Exception):
    """An event violates a law."""

    def __init__(self, law: Law, seq: int, message: str) -> None:
        super().__init__(message)
        self.law = law
        self.seq = seq


def refuse(law: Law, ledger: Ledger, message: str) -> NoReturn:
    """Raise IllegalHistory: the next event violates `law`."""
    raise IllegalHistory(law, ledger.seq, message)


def task_of(ledger: Ledger) -> Task:
    """Return the task; only the first event comes before it."""
    assert ledger.task is not None, "the run has not started"
    return ledger.task


def committed_graph(ledger: Ledger) -> TaskGraph:
    """Return the graph; it must be committed."""
    if ledger.working.graph is None:
        refuse(Law.OUT_OF_PLACE, ledger, "no graph has been committed yet")
    return ledger.working.graph


def open_transaction(ledger: Ledger) -> OpenTransaction:
    """Return the open transaction; there must be one."""
    if ledger.transaction is None:
        refuse(Law.OUT_OF_PLACE, ledger, "no transaction is open")
    return ledger.transaction


def covered(working: WorkingState, subject: Subject) -> Region:
    """Return the nodes whose local evidence includes a check of `subject`."""
    match subject:
        case AtNode(node=node):
            return frozenset({node})
        case AtBranch(root=root):
            graph = working.graph
            return graph.subtree(root) if graph and root in graph.ids else frozenset()
        case AtProgram():
            return frozenset()


def present(working: WorkingState, subject: Subject) -> Digest | None:
    """Return the digest of the current `subject`; None if there is nothing to check."""
    match subject:
        case AtNode(node=node):
            return digest_in(working, node)
        case AtBranch():
            nodes = covered(working, subject)
            return working.codes_of(nodes) if nodes & set(working.code) else None
        case AtProgram():
            return working.assembly.program if working.assembly else None


def digest_in(working: WorkingState, node: NodeId) -> Digest | None:
    """Return the digest of a node's code; None if it has none."""
    return working.code[node].digest if node in working.code else None


def still_standing(
    working: WorkingState, doubtful: Region = frozenset()
) -> dict[CheckId, CurrentCheck]:
    """Return the evidence that is about the current code, and not about a `doubtful` node."""
    # Each subject is evaluated once: a run has many checks but few subjects.
    now: dict[Subject, Digest | None] = {}
    for standing in working.evidence.values():
        if standing.subject not in now:
            nodes = covered(working, standing.subject)
            now[standing.subject] = None if nodes & doubtful else present(working, standing.subject)
    return {c: s for c, s in working.evidence.items() if now[s.subject] == s.against}


def open_doubts(ledger: Ledger) -> tuple[CheckId, ...]:
    """Return the failing checks of the present code that were not given with the task."""
    return tuple(
        sorted(
            check
            for check, s in ledger.working.evidence.items()
            if s.verdict.failing and s.kind.judges and s.trust is not Trust.GIVEN
        )
    )


def listed(items: Iterable[object]) -> str:
    """Return items as sorted text, separated by commas."""
    return ", ".join(sorted(str(i) for i in items))
