"""Records of failing classes with their ground truth, one JSON line each."""

from auditcoder.domain.values import Value

SINGLE, MULTI, INTERFACE, UNFIXABLE = "single", "multi", "interface", "unfixable"
"""The kinds of ground truth."""
EXCEPTION, WRONG_ANSWER, TIMEOUT = "exception", "wrong_answer", "timeout"
"""The kinds of test failure."""


class OpenValue(Value, forbid_unknown_fields=False):
    """A value whose JSON may have additional fields, which are ignored."""


class MethodCode(OpenValue):
    """One method of the reference, which is a possible location of a fault."""

    name: str
    in_generated: bool
    unit_test_class: str | None
    """The test class for this method alone."""


class TracebackFrame(OpenValue, array_like=True):
    """One frame of a traceback, outermost first."""

    kind: str
    """`gen`: a method of the class; `gen_other`: the same file; `test`; or `lib`."""
    function: str
    """For `gen` the method, also if code nested in it ran."""
    line: int | None
    """Line number in the generated code followed by the test code."""


class PassingTest(OpenValue):
    """A test, and the methods of the class that it ran."""

    test_class: str
    test_name: str
    cov: dict[str, int]
    """Number of calls of each method, including functions nested in it."""
    direct: tuple[str, ...]
    """The methods that the test called directly."""
    order: tuple[str, ...]
    """The methods in the order in which they first ran."""


class FailingTest(PassingTest):
    """A failing test, and how it failed."""

    kind: str
    exc_type: str
    message: str
    frames: tuple[TracebackFrame, ...]


class GroundTruth(OpenValue):
    """The methods that make all tests of a view pass if the reference's replace them."""

    unit_failing: tuple[str, ...]
    """The methods whose own test classes fail; empty if the view has only integration tests."""
    missing_methods: tuple[str, ...]
    missing_imports: tuple[str, ...]
    """Import statements for names that the class uses but does not import."""
    import_alone_fixes: bool
    """Whether all tests pass with these imports added."""
    kind: str
    """`single`, `multi`, `interface` (missing imports or shared state), or `unfixable`."""
    nodes: tuple[str, ...]
    k: int
    """The number of nodes."""
    tags: tuple[str, ...]
    runs: int
    """The number of programs that were run to find the ground truth."""
    subtype: str = ""
    """For `interface`: `module_or_import` or `shared_state`."""
    via: str = ""
    """The set of methods that was minimised: `unit_failing` or `all_methods`."""


class FaultRecord(OpenValue):
    """A failing class that a model wrote, with its ground truth."""

    id: str
    """`model|mode|task`."""
    model: str
    mode: str
    """How the model was prompted: for the whole class (`class_H`), or method by method."""
    task_id: str
    class_name: str
    skeleton: str
    generated_code: str
    code_sha1: str
    """Identifies equal code in different files."""
    methods: tuple[MethodCode, ...]
    helpers: dict[str, tuple[str, ...]]
    """Methods that the reference lacks, with the reference's methods that reach them by calls."""
    integration_class: str | None
    """The test class that does not belong to a single method."""
    flaky: bool
    """Whether a second run had different results."""
    failing_tests: tuple[FailingTest, ...]
    passing_tests: tuple[PassingTest, ...]
    not_run: tuple[tuple[str, str], ...]
    """Tests that were not run, by class and name."""
    ground_truth: GroundTruth
    ground_truth_program: GroundTruth | None
    """The ground truth by the integration test class alone; None if that passes."""
