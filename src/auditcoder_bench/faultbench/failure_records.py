"""A failure with its ground truth, as a line of JSON."""

from auditcoder.domain.values import Value

SINGLE, MULTI, INTERFACE, UNFIXABLE = "single", "multi", "interface", "unfixable"
"""The kinds of ground truth."""
EXCEPTION, WRONG_ANSWER, TIMEOUT = "exception", "wrong_answer", "timeout"
"""The kinds of failing."""


class OpenValue(Value, forbid_unknown_fields=False):
    """A value that other producers may say more about than is read here."""


class MethodCode(OpenValue):
    """One method of the reference, and so one place where a fault can be."""

    name: str
    in_generated: bool
    unit_test_class: str | None
    """The test class that is about this method alone."""


class TracebackFrame(OpenValue, array_like=True):
    """One frame of a traceback, outermost first."""

    kind: str
    """`gen`: a method of the class; `gen_other`: the same file; `test`; or `lib`."""
    function: str
    """For `gen` the method, also where something nested in it ran."""
    line: int | None
    """In the generated code with the test code right below it."""


class PassingTest(OpenValue):
    """A test, and what of the class it made run."""

    test_class: str
    test_name: str
    cov: dict[str, int]
    """How often each method was entered, with what is nested in it."""
    direct: tuple[str, ...]
    """The methods that the test itself called."""
    order: tuple[str, ...]
    """The methods in the order in which they first ran."""


class FailingTest(PassingTest):
    """A test that failed, and how."""

    kind: str
    exc_type: str
    message: str
    frames: tuple[TracebackFrame, ...]


class GroundTruth(OpenValue):
    """Which methods, replaced by the reference's, make all tests of a view pass."""

    unit_failing: tuple[str, ...]
    """The methods whose own test classes fail; empty where those are not looked at."""
    missing_methods: tuple[str, ...]
    missing_imports: tuple[str, ...]
    """What the class uses and never imports."""
    import_alone_fixes: bool
    """Whether with these imports all tests pass."""
    kind: str
    """`single`, `multi`, `interface` (imports, or what methods share), or `unfixable`."""
    nodes: tuple[str, ...]
    k: int
    """How many nodes."""
    tags: tuple[str, ...]
    runs: int
    """How many programs were run to find out."""
    subtype: str = ""
    """Of an interface: `module_or_import` or `shared_state`."""
    via: str = ""
    """From which set the nodes were whittled down: `unit_failing` or `all_methods`."""


class FaultRecord(OpenValue):
    """A class that a model wrote and that fails, and why."""

    id: str
    """`model|mode|task`."""
    model: str
    mode: str
    """How it was asked: the whole class (`class_H`), or method by method."""
    task_id: str
    class_name: str
    skeleton: str
    generated_code: str
    code_sha1: str
    """Names the code, to find the same class in two places."""
    methods: tuple[MethodCode, ...]
    helpers: dict[str, tuple[str, ...]]
    """Methods that the reference does not have, and those of its methods that come to them."""
    integration_class: str | None
    """The test class that belongs to no one method."""
    flaky: bool
    """Whether a second run said something else."""
    failing_tests: tuple[FailingTest, ...]
    passing_tests: tuple[PassingTest, ...]
    not_run: tuple[tuple[str, str], ...]
    """Tests that could not be begun, by class and name."""
    ground_truth: GroundTruth
    ground_truth_program: GroundTruth | None
    """The same by the integration test class alone; None where that passes."""
