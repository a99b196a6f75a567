"""The worker starts from its file and leaves no way to import the sandbox's own code."""

import pytest

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.domain.execution import Execution, RunProgram


@pytest.mark.parametrize("module", ["sandboxed", "sandboxed.zygote", "auditcoder", "worker_start"])
def test_a_candidate_cannot_import_the_sandbox(module: str) -> None:
    with LocalSandbox() as sandbox:
        outcome = sandbox.run(Execution(source=f"import {module}", action=RunProgram()))
    assert outcome.raised is not None
    assert outcome.raised.exception == "ModuleNotFoundError"
