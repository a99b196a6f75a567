"""The sizes of the long test campaigns, and of the small part of each that every test run has.

`make test` leaves out what is marked `campaign`; `make check` runs everything. Both sizes of a
campaign run the same code.
"""

from typing import NamedTuple

import pytest


class CampaignSize(NamedTuple):
    """The size of a campaign in every test run, and its full size."""

    small: int
    whole: int


STORE_KILLS = CampaignSize(5, 500)
"""Writers of a store that are killed."""
RUN_KILLS = CampaignSize(2, 40)
"""Processes that are killed in each scenario of a run."""
RUN_INTERRUPTS = CampaignSize(1, 20)
"""Processes that are interrupted in each scenario of a run."""
CUTS = CampaignSize(2, 12)
"""Positions in the record of a run at which it is cut off."""
EVERY_ENTRY = CampaignSize(8, 10_000)
"""Entries of a record after which a run is interrupted."""
SOLVED_RUNS = CampaignSize(15, 100)
"""Runs with randomly scripted models."""
RANDOM_RUNS = CampaignSize(15, 150)
"""Random runs whose records are examined."""
HOSTILE_PROGRAMS = CampaignSize(24, 10_000)
"""Hostile programs in the sandbox."""


def sized(name: str, size: CampaignSize) -> pytest.MarkDecorator:
    """Parametrise a test by the size of its campaign."""
    return pytest.mark.parametrize(
        name,
        [
            pytest.param(size.small, id="slice"),
            pytest.param(size.whole, marks=pytest.mark.campaign, id="campaign"),
        ],
    )


def spread(length: int, size: int, first: int = 0) -> range:
    """Return at most `size` positions from `first` up to `length`, evenly spread."""
    step = max(1, -(-(length - first) // size))
    return range(first, length, step)
