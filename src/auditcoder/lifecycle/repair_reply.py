"""The reply to a repair request: the cause and new code, or an answer that needs no code.

Such an answer says that the plan is at fault, or names another part that is.
"""

import ast
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from auditcoder.domain.contract import Contract, signature_faults
from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_names import PARSE_ERRORS, parse
from auditcoder.domain.request import FinishReason, Reply
from auditcoder.lifecycle.reply_splitter import CodePiece, SplitReply, SplitReplyFormat
from auditcoder.lifecycle.response_formats import FormatMismatch, ParsedPython
from auditcoder.lifecycle.root_cause import (
    BECAUSE,
    RootCause,
    StatedCause,
    read_cause,
    reason_in,
)
from auditcoder.lifecycle.task_forms import with_header_of

_ELSEWHERE = re.compile(
    rf"fault (?:is|lies) elsewhere\W+([A-Za-z_][\w.]*)(?:\([^)\n]*\))?{BECAUSE}", re.IGNORECASE
)
_FUNCTION = re.compile(r"^[ \t]*(?:async )?def \w+\(", re.MULTILINE)
_INSTRUCTION = "Answer with the cause line and one ```python block only."
NO_REASON = "no reason was given"


class RepairedCode(NamedTuple):
    """New code with the cause of the failure that it removes."""

    code: SplitReply
    cause: StatedCause


class FaultElsewhere(NamedTuple):
    """The claim of a reply that another part is at fault."""

    node: NodeId
    reason: str
    name: str
    """The part as the reply names it."""

    @property
    def part(self) -> str:
        """The node with the name that the reply has for it: "S1 (`DAY_CAP`)"."""
        return self.node if self.name == self.node else f"{self.node} (`{self.name}`)"


RepairAnswer: TypeAlias = RepairedCode | FaultElsewhere | StatedCause
"""A cause without code is one that new code of the node cannot remove."""


class RepairReplyFormat:
    """New code for a node below a line with the cause, or an answer that needs no code."""

    schema = ""

    def __init__(
        self,
        code: SplitReplyFormat,
        node: NodeId,
        contract: Contract,
        present: str,
        functions: Mapping[str, NodeId],
        without_code: Collection[RootCause] = (),
    ) -> None:
        """Request code for `node`, whose code is `present`, or a claim about one of `functions`.

        A cause in `without_code` needs no code.
        """
        self._code = code
        self._node = node
        self._contract = contract
        self._present = present
        self._functions = functions
        self._without_code = without_code

    def instruction(self) -> str:
        """Request the line with the cause and one fenced block."""
        return _INSTRUCTION

    def read(self, reply: Reply) -> RepairAnswer:
        """Return the code or the answer without code; a reply with changed code is code."""
        cause, rest = read_cause(reply.text)
        code = replace(reply, text=rest) if rest.strip() else reply
        ended = reply.finish is FinishReason.STOP
        claim = _ELSEWHERE.search(reply.text) if ended else None
        may_lack_code = ended and cause.kind in self._without_code
        if claim is None and not may_lack_code:
            return self._repaired(code, cause)
        if _FUNCTION.search(rest):
            repaired = self._repaired(code, cause)
            piece = repaired.code.pieces.get(self._node)
            if piece is None or not _same(piece.source, self._present):
                return repaired
        if claim is None:
            return cause
        name = claim[1].rstrip(".")
        return FaultElsewhere(self._named(name), reason_in(claim[2]) or NO_REASON, name)

    def _repaired(self, reply: Reply, cause: StatedCause) -> RepairedCode:
        """Return the code with its cause, which is the interface if the parameters are others.

        Parameters under other names are a slip, unless the cause is the interface.
        """
        code = self._code.read(reply)
        piece = code.pieces.get(self._node)
        faults = signature_faults(self._contract, piece.source) if piece else ()
        if piece is not None and faults:
            header = with_header_of(self._contract, piece.source)
            renamed = len(header.params) == len(self._contract.params)
            if renamed and cause.kind is not RootCause.INTERFACE:
                raise FormatMismatch(
                    f"{self._contract.name}: {faults[0]}; if they must change, begin with"
                    " `cause: interface, because REASON`"
                )
            cause = cause._replace(kind=RootCause.INTERFACE)
        return RepairedCode(code, cause)

    def _named(self, text: str) -> NodeId:
        name = text.rpartition(".")[2]
        known = self._functions
        members = {node for full, node in known.items() if full.rpartition(".")[2] == name}
        only = members.pop() if len(members) == 1 else NodeId(name)
        node = known.get(text) or known.get(name) or only
        others = {n: i for n, i in known.items() if i != self._node}
        if node not in others.values():
            listed = ", ".join(n for n in others if "." not in n)
            raise FormatMismatch(
                f"{name} is no other part of the program; name one of {listed}, or write the code"
            )
        return node


class CodeReplyFormat:
    """The whole code of a node in one block, below a line with the cause."""

    schema = ""

    def __init__(self, code: ParsedPython[CodePiece], node: NodeId) -> None:
        self._code = code
        self._node = node

    def instruction(self) -> str:
        """Request the line with the cause and one fenced block."""
        return _INSTRUCTION

    def read(self, reply: Reply) -> RepairedCode:
        """Return the code, or raise FormatMismatch."""
        cause, rest = read_cause(reply.text)
        piece = self._code.read(replace(reply, text=rest) if rest.strip() else reply)
        return RepairedCode(SplitReply({self._node: piece}), cause)


def _same(source: str, present: str) -> bool:
    try:
        return ast.dump(parse(source)) == ast.dump(parse(present))
    except PARSE_ERRORS:
        return False
