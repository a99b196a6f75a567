"""The benchmark suites, by name."""

from auditcoder.domain.errors import NotFound
from auditcoder_bench.suites import aerocomm, apps, classeval, humaneval, mbpp, qf, scicode
from auditcoder_bench.suites.suite import Suite

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        apps.SUITE,
        classeval.SUITE,
        humaneval.HUMANEVAL,
        humaneval.HUMANEVAL_PLUS,
        mbpp.MBPP_PLUS,
        aerocomm.SUITE,
        qf.SUITE,
        scicode.SUITE,
    )
}


def suite(name: str) -> Suite:
    """Return a suite by its name."""
    try:
        return SUITES[name]
    except KeyError:
        raise NotFound(
            "suite.unknown", f"unknown suite '{name}'", f"the suites are {', '.join(SUITES)}"
        ) from None
