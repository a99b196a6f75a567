"""The reply to a repair request: new code, or the name of another part that is at fault."""

import ast
import re
from collections.abc import Mapping
from typing import NamedTuple

from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_names import PARSE_ERRORS, parse
from auditcoder.domain.request import FinishReason, Reply
from auditcoder.lifecycle.reply_splitter import SplitReply, SplitReplyFormat
from auditcoder.lifecycle.response_formats import FormatMismatch, blocks

_ELSEWHERE = re.compile(
    r"fault (?:is|lies) elsewhere\W+([A-Za-z_][\w.]*)(?:\([^)\n]*\))?[`'\"*]*"
    r"(?:[\s,.:;\u2013\u2014-]|\*\*)*(?:because\b)?[\s,:]*([^\n]*)",
    re.IGNORECASE,
)
"""A claim; a mark that opens its reason is part of the reason."""


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


class RepairReplyFormat:
    """New code for a node, or a line that names the node at fault instead."""

    schema = ""

    def __init__(
        self, code: SplitReplyFormat, node: NodeId, present: str, functions: Mapping[str, NodeId]
    ) -> None:
        self._code = code
        self._node = node
        self._present = present
        self._functions = functions

    def instruction(self) -> str:
        """Request one fenced block."""
        return self._code.instruction()

    def read(self, reply: Reply) -> SplitReply | FaultElsewhere:
        """Return the code or the claim; a reply with changed code makes no claim."""
        claimed = _ELSEWHERE.search(reply.text) if reply.finish is FinishReason.STOP else None
        if claimed is None:
            return self._code.read(reply)
        if any("def " in content for _, content in blocks(reply.text)):
            split = self._code.read(reply)
            piece = split.pieces.get(self._node)
            if piece is None or not _same(piece.source, self._present):
                return split
        name = claimed[1].rstrip(".")
        return FaultElsewhere(self._named(name), _reason(claimed[2]), name)

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


def _reason(text: str) -> str:
    """Return a reason without its full stop and marks that close what it does not open."""
    reason = text.rstrip(". ")
    for mark in ("**", "`"):
        if reason.count(mark) % 2:
            reason = reason.rstrip(mark[0]).rstrip(". ")
    return reason if any(map(str.isalnum, reason)) else "no reason was given"


def _same(source: str, present: str) -> bool:
    try:
        return ast.dump(parse(source)) == ast.dump(parse(present))
    except PARSE_ERRORS:
        return False
