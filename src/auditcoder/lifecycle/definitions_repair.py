"""Requests the definitions that functions share once more; no contract says what they must be."""

import ast
from collections.abc import Iterable, Mapping

from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_names import Function
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle import code_builder
from auditcoder.lifecycle.failure_report import failure_text
from auditcoder.lifecycle.import_completion import completing, imports_by_name
from auditcoder.lifecycle.model_client import ModelAnswer
from auditcoder.lifecycle.module_statements import binds, is_harmless, source_of, summary
from auditcoder.lifecycle.repair_reply import CodeReplyFormat, RepairedCode
from auditcoder.lifecycle.reply_splitter import CodePiece, parsed_module
from auditcoder.lifecycle.response_formats import FormatMismatch, ParsedPython
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.token_limits import REPAIRED_CODE


def request_definitions(
    context: RunContext, node: NodeId, failing: Evidence, **reasons: str
) -> ModelAnswer[RepairedCode] | None:
    """Request new code of a node that owns definitions; it must define the same names.

    `reasons` are the sections of the prompt about the cause. Return None if no reply is usable.
    """
    ledger = context.recorder.ledger
    code = ledger.working.code.get(node)
    if code is None:
        return None
    names = sorted(u.name for u in code.units if "." not in u.name)
    functions = frozenset(ledger.graph.promises)
    present = imports_by_name({n: b.source for n, b in ledger.working.bundles.items()}, {node})
    try:
        return context.ask(
            "repair_definitions",
            CodeReplyFormat(
                ParsedPython(lambda text: definitions_of(text, names, functions, present)), node
            ),
            Phase.GENERATION,
            REPAIRED_CODE,
            role=code_builder.specialist(context, ledger.graph.by_id[node]),
            node=node,
            statement=context.statement,
            code=context.recorder.text(code.digest).strip(),
            failure=failure_text(context, failing),
            names=", ".join(f"`{name}`" for name in names) or "none has a name",
            **reasons,
            **code_builder.surrounding_code(context, [node]),
        )
    except ReplyUnusable:
        return None  # both answers are recorded; an unchanged candidate is rejected


def definitions_of(
    text: str,
    names: Iterable[str],
    functions: frozenset[str],
    present: Mapping[str, str] | None = None,
) -> CodePiece:
    """Return the definitions in a reply; raise FormatMismatch if one of `names` is missing.

    Functions of other nodes are left out; `present` holds the imports of other nodes by name.
    """
    bundle, module = parsed_module(text)
    kept, losses, bound = [], [], set[str]()
    for statement in module.body:
        if isinstance(statement, Function) and statement.name in functions:
            losses.append(f"`{summary(statement)}`, which another part owns")
        elif not is_harmless(statement) or isinstance(statement, ast.AnnAssign):
            kept.append(source_of(bundle, statement).rstrip("\n"))
            bound |= binds(statement)
    if missing := set(names) - bound:
        raise FormatMismatch(f"it does not define {', '.join(sorted(missing))}")
    source = "\n".join(kept) + "\n"
    imports = completing(source, bound | functions, present)
    return CodePiece("\n".join([*imports, source]), losses=tuple(losses))
