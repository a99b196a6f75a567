"""The options of a run, each declared once.

A declaration holds the type, the default and the help text. The command-line flag, the Python
parameter, the environment variable, the configuration key, the reference page and the manifest
are derived from it, so adding an option is one edit: a field of `Options`.
"""

import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from auditcoder.domain.values import Value
from auditcoder.lifecycle.budget import Budget


class Planner(Enum):
    """How the task graph is made."""

    SKETCH = "sketch"
    """One call; the plan is Python stubs."""
    STAGED = "staged"
    """The paper's eight roles, one after another."""


class Build(Enum):
    """How code is requested."""

    JOINT = "joint"
    """All functions in one call, split by owner."""
    NODE = "node"
    """One call per node, to the specialist of its kind."""


class LocatorName(Enum):
    """Which locator maps a failure to the nodes at fault."""

    WEIGHED = "weighed"
    """Combines all evidence with fitted weights, and collects more while it is inconclusive."""
    PAPER_RULES = "paper-rules"
    """The paper's rules R1 to R4."""
    TRACEBACK = "traceback"
    OCHIAI = "ochiai"
    TARANTULA = "tarantula"
    DSTAR = "dstar"


class Option(NamedTuple):
    """The part of an option's declaration beside its type and default."""

    help: str
    metavar: str = ""
    recorded: bool = True
    """Whether the manifest's `settings` hold it; other options have their own manifest field."""
    before: str | None = None
    """The value assumed for records older than the option; None if every record has it."""


_Count = Annotated[int, msgspec.Meta(ge=0)]
_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Amount = Annotated[float, msgspec.Meta(gt=0)]
_Temperature = Annotated[float, msgspec.Meta(ge=0, le=2)]


class Options(Value):
    """The options of a run. The manifest records all of them."""

    planner: Annotated[
        Planner,
        Option("how to plan; sketch: one call, Python stubs; staged: eight roles in turn"),
    ] = Planner.SKETCH
    build: Annotated[
        Build,
        Option("how to request code; joint: one call, split by owner; node: one call per node"),
    ] = Build.JOINT
    max_repairs: Annotated[_Count, Option("maximum number of repair transactions", "K")] = 3
    fallback: Annotated[
        bool, Option("after an abstention, plan and write the whole program again, once")
    ] = False
    differential: Annotated[
        bool, Option("compare every function with a slow reference that the model writes")
    ] = False
    review: Annotated[
        bool, Option("with the paper-rules locator: let a model name the faulty function")
    ] = True
    locator: Annotated[
        LocatorName,
        Option(
            "which locator maps a failure to the nodes at fault",
            before=LocatorName.PAPER_RULES.value,
        ),
    ] = LocatorName.WEIGHED
    second_opinions: Annotated[
        bool,
        Option(
            "if the evidence does not identify the faulty node, request another implementation",
            before="false",
        ),
    ] = True
    second_opinions_by: Annotated[
        str | None,
        Option("the model that writes second opinions (default: the run's model)", "MODEL", False),
    ] = None
    specialists: Annotated[
        bool,
        Option("with --build node: use the specialist prompt of each node's kind", before="true"),
    ] = True
    budget_tokens: Annotated[
        _Positive | None, Option("maximum number of tokens for the run", "N", False)
    ] = None
    budget_usd: Annotated[
        _Amount | None, Option("maximum cost of the run in US dollars", "USD", False)
    ] = None
    seed: Annotated[
        int | None, Option("the random seed, for models that support one", "N", False)
    ] = None
    temperature: Annotated[
        _Temperature, Option("sampling temperature of first answers", "T", False)
    ] = 0.0
    repair_temperature: Annotated[
        _Temperature, Option("sampling temperature of regenerated code", "T", False)
    ] = 0.5
    """Higher than `temperature`, so that a rejected answer is not simply repeated."""

    def __post_init__(self) -> None:
        """Raise ValueError if an option has a value that its declaration does not allow."""
        for spec in option_specs(type(self)):
            spec.check(getattr(self, spec.name))

    @property
    def budget(self) -> Budget:
        """The token and cost limits as a budget."""
        return Budget(tokens=self.budget_tokens, usd=self.budget_usd)


class OptionSpec(NamedTuple):
    """One declared option, with the names derived from it."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """The command-line flag."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return "AUDITCODER_" + self.name.upper()

    @property
    def is_switch(self) -> bool:
        """Whether the option is a boolean."""
        return _bare(self.type) is bool

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of an enumeration; empty for other types."""
        bare = _bare(self.type)
        if isinstance(bare, type) and issubclass(bare, Enum):
            return tuple(str(member.value) for member in bare)
        return ()

    @property
    def expected(self) -> str:
        """A description of the allowed values, for messages and the reference."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return _EXPECTED.get(_declared(self.type), "text")

    def convert(self, value: object) -> Any:
        """Convert a configured value to the option's type, or raise ValueError."""
        try:
            return msgspec.convert(value, self.type, strict=not isinstance(value, str))
        except (msgspec.ValidationError, OverflowError) as error:
            raise ValueError(f"must be {self.expected}, not {value!r}") from error

    def check(self, value: object) -> None:
        """Raise ValueError, naming the option, if a value has the wrong type or range."""
        bare = _bare(self.type)
        try:
            converted = msgspec.convert(value, self.type)
            if converted is not value and self.choices:
                raise ValueError("its name, not a member of the enumeration")
        except (ValueError, OverflowError) as error:
            kind = f" ({bare.__name__})" if self.choices else ""
            raise ValueError(
                f"option {self.name} must be {self.expected}{kind}, not {value!r}"
            ) from error


def write_value(value: Any) -> str:
    """Write an option's value as the manifest and the reference show it."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return str(value).removesuffix(".0")
        case Enum():
            return str(value.value)
        case _:
            return str(value)


_EXPECTED: dict[Any, str] = {
    bool: "true or false",
    int: "an integer",
    _Count: "a non-negative integer",
    _Positive: "a positive integer",
    _Amount: "a positive number",
    _Temperature: "a number from 0 to 2",
}


def _declared(hint: Any) -> Any:
    """Return the type of an optional type, without None."""
    if get_origin(hint) in (Union, types.UnionType):
        return next(part for part in get_args(hint) if part is not type(None))
    return hint


def _bare(hint: Any) -> Any:
    declared = _declared(hint)
    return get_args(declared)[0] if get_origin(declared) is Annotated else declared


@cache
def option_specs(declaration: type[Options] = Options) -> tuple[OptionSpec, ...]:
    """Return every option of a declaration, in its order."""
    hints = get_type_hints(declaration, include_extras=True)
    specs = []
    for field in msgspec.structs.fields(declaration):
        hint = hints[field.name]
        option = next((m for m in get_args(hint)[1:] if isinstance(m, Option)), None)
        if option is None:
            raise TypeError(f"option {field.name} has no help text: annotate it with Option(...)")
        inner = [get_args(hint)[0], *(m for m in get_args(hint)[1:] if m is not option)]
        kind = Annotated[tuple(inner)] if len(inner) > 1 else inner[0]
        specs.append(OptionSpec(field.name, kind, field.default, option))
    return tuple(specs)


def to_settings(options: Options) -> dict[str, str]:
    """Return the options that a manifest's `settings` hold, as text."""
    return {
        spec.name: write_value(getattr(options, spec.name))
        for spec in option_specs(type(options))
        if spec.option.recorded
    }


def from_settings(
    settings: Mapping[str, str], declaration: type[Options] = Options, **others: Any
) -> Options:
    """Parse recorded options; raise KeyError or ValueError if one is missing or invalid.

    `others` are the options that have their own manifest field.
    """
    values = {}
    for spec in option_specs(declaration):
        if spec.option.recorded:
            before = spec.option.before
            text = settings[spec.name] if before is None else settings.get(spec.name, before)
            values[spec.name] = spec.convert(text)
    return declaration(**values, **others)
