"""Wrappers that measure the total time of a model and of a sandbox."""

import time

from auditcoder.domain.execution import Execution, ExecutionOutcome
from auditcoder.domain.request import Reply, Request, Traits
from auditcoder.lifecycle.ports import Model, Sandbox


class TimedModel:
    """A model that adds up the time of its requests."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner
        self.seconds = 0.0

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self._inner.name

    @property
    def traits(self) -> Traits:
        """The inner model's traits."""
        return self._inner.traits

    def complete(self, request: Request) -> Reply:
        """Forward the request and add its time."""
        began = time.perf_counter()
        try:
            return self._inner.complete(request)
        finally:
            self.seconds += time.perf_counter() - began

    def close(self) -> None:
        """Close the inner model."""
        self._inner.close()


class TimedSandbox:
    """A sandbox that adds up the time of its runs."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner
        self.seconds = 0.0
        self.runs = 0

    @property
    def kind(self) -> str:
        """The inner sandbox's kind."""
        return self._inner.kind

    def run(self, execution: Execution) -> ExecutionOutcome:
        """Forward the run and add its time."""
        began = time.perf_counter()
        try:
            return self._inner.run(execution)
        finally:
            self.seconds += time.perf_counter() - began
            self.runs += 1

    def close(self) -> None:
        """Close the inner sandbox."""
        self._inner.close()
