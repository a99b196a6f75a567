"""The reports of repairs, code histories and events of any run agree with its record."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from auditcoder.domain.repair import Decision
from auditcoder.domain.trace import Trace, fold
from auditcoder.exports.code_history import code_history
from auditcoder.exports.event_content import event_content
from auditcoder.exports.repair_report import repair_reports
from tests.support.campaigns import RANDOM_RUNS, sized
from tests.support.random_runs import RandomRun
from tests.support.record_builders import RUN

SETTINGS = settings(stateful_step_count=45, deadline=None, suppress_health_check=list(HealthCheck))


@sized("examples", RANDOM_RUNS)
def test_the_reports_of_any_run_say_only_what_its_record_holds(examples: int) -> None:
    class Reported(RandomRun):
        def teardown(self) -> None:
            trace = fold(self.store.read(RUN), self.store.blob)
            check_repairs(self, trace)
            for node in trace.committed:
                history = code_history(trace, node, self.store.blob)
                assert [v.code for v in history] == [v.code for v in trace.versions_of(node)]
                current = [v.code for v in history if "current" in v.fate]
                standing = trace.working.code.get(node)
                assert current == ([standing.digest] if standing else [])
            bodies = list(self.store.read(RUN))
            for number in range(len(bodies)):
                assert event_content(RUN, bodies, number, self.store.blob).event == number
            super().teardown()

    run_state_machine_as_test(Reported, settings=settings(SETTINGS, max_examples=3 * examples))


def check_repairs(run: RandomRun, trace: Trace) -> None:
    for t, report in zip(trace.history, repair_reports(trace, run.store.blob), strict=True):
        failing = {check for check, verdict in t.verdicts_before.items() if verdict.failing}
        assert {failed.check for failed in report.failures} == failing
        rejected = t.decision is Decision.REJECTED
        assert report.cause.endswith("is not confirmed.") is rejected
        assert {change.node for change in report.changes} == {d.node for d in t.code_deltas}
