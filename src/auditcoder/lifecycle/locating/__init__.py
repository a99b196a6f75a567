"""Fault localisation: maps the evidence of a failure to the nodes at fault, or abstains."""

from collections.abc import Callable
from functools import partial

from auditcoder.lifecycle.locating.collectors import trace_failing_check
from auditcoder.lifecycle.locating.diagnosis_input import Locator
from auditcoder.lifecycle.locating.evidence_model import EvidenceLocator
from auditcoder.lifecycle.locating.paper_rules import PaperRules
from auditcoder.lifecycle.locating.sbfl import FORMULAS, RankedLocator, TracebackLocator
from auditcoder.lifecycle.options import LocatorName

LOCATORS: dict[LocatorName, Callable[[], Locator]] = {
    LocatorName.WEIGHED: EvidenceLocator,
    LocatorName.PAPER_RULES: PaperRules,
    LocatorName.TRACEBACK: TracebackLocator,
    **{
        LocatorName(name): partial(RankedLocator, name, (trace_failing_check,)) for name in FORMULAS
    },
}
"""Every locator, by the name that selects it in the options."""
