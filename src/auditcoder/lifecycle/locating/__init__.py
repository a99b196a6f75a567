"""Locating: evidence is mapped to the part that is at fault, or nothing is said."""

from collections.abc import Callable
from functools import partial

from auditcoder.lifecycle.locating.case import Locator
from auditcoder.lifecycle.locating.ranked import Ranked, Traceback
from auditcoder.lifecycle.locating.rules import PaperRules
from auditcoder.lifecycle.locating.spectra import FORMULAS
from auditcoder.lifecycle.locating.weighed import Weighed
from auditcoder.lifecycle.workshop import WhichLocator

LOCATORS: dict[WhichLocator, Callable[[], Locator]] = {
    WhichLocator.WEIGHED: Weighed,
    WhichLocator.PAPER_RULES: PaperRules,
    WhichLocator.TRACEBACK: Traceback,
    **{WhichLocator(name): partial(Ranked, name) for name in FORMULAS},
}
"""Every locator that can be chosen."""
