"""The request for second opinions, blind or informed of the present code and the failure."""

from typing import NamedTuple

from auditcoder.domain.ids import NodeId
from auditcoder.domain.task import ClassForm
from auditcoder.lifecycle import code_builder
from auditcoder.lifecycle.failure_report import failure_text
from auditcoder.lifecycle.locating.diagnosis_input import most_trusted_failure
from auditcoder.lifecycle.model_client import INFORMED_OPINION, SECOND_OPINION
from auditcoder.lifecycle.options import SecondOpinions
from auditcoder.lifecycle.run_context import RunContext


class OpinionRequest(NamedTuple):
    """The role, the prompt and the prompt's variables of a request for second opinions."""

    role: str
    prompt: str
    values: dict[str, str]


def opinion_role(context: RunContext) -> str:
    """Return the role that writes second opinions in this run."""
    informed = context.options.second_opinions is SecondOpinions.INFORMED
    return INFORMED_OPINION if informed else SECOND_OPINION


def opinion_request(context: RunContext, nodes: list[NodeId]) -> OpinionRequest:
    """Return the request for other implementations of these nodes, as the options say."""
    prompt = "second_opinion"
    if isinstance(context.task.form, ClassForm):
        prompt += "_methods"
    wanted = code_builder.contracts(context.recorder.ledger.graph, nodes).values()
    values = {
        "functions": ", ".join(f"`{contract.header()}`" for contract in wanted),
        **code_builder.surrounding_code(context, nodes),
    }
    role = opinion_role(context)
    if role == SECOND_OPINION:
        return OpinionRequest(role, prompt, values)
    code = context.recorder.ledger.working.code
    values |= {
        "code": "\n\n".join(context.recorder.text(code[n].digest).strip() for n in nodes),
        "failure": failure_text(context, most_trusted_failure(context)),
    }
    return OpinionRequest(role, f"{prompt}_informed", values)
