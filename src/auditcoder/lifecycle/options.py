"""The options of a run, each declared once.

A declaration holds the type, the default, the help text and the part of the manifest that records
the option. The flags of `solve` and `bench run`, the Python parameter, the environment variable,
the configuration key, the reference page and the manifest are derived from it, so adding an option
is one edit: a field of `Options`.
"""

import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import (
    Annotated,
    Any,
    NamedTuple,
    Union,
    assert_never,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from auditcoder.domain.events import Manifest
from auditcoder.domain.request import Traits
from auditcoder.domain.values import Value
from auditcoder.lifecycle.budget import Budget


class Planner(Enum):
    """How the task graph is made."""

    TASK = "task"
    """No call: the interface that the task gives is the plan."""
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


class SecondOpinions(Enum):
    """Whether other implementations are requested for a diagnosis, and what their author sees."""

    BLIND = "blind"
    """The author sees neither the present code nor the failure."""
    INFORMED = "informed"
    """The author sees both."""
    NONE = "none"
    """None are requested."""

    def __bool__(self) -> bool:
        """Whether any are requested."""
        return self is not SecondOpinions.NONE


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


class AutoSwitch(Enum):
    """Whether a run makes additional requests.

    A run records `on` or `off`: `auto` is decided by its model when it starts.
    """

    AUTO = "auto"
    """On, unless the model is a small one, as the embedded model is."""
    ON = "on"
    OFF = "off"

    def decided(self, traits: Traits) -> "AutoSwitch":
        """Return whether to make the requests, for a model with these traits."""
        if self is not AutoSwitch.AUTO:
            return self
        return AutoSwitch.OFF if traits.limits.small else AutoSwitch.ON


class ManifestPart(Enum):
    """The part of a manifest that records an option."""

    SETTINGS = "settings"
    """The settings, as text; an option without a value is left out."""
    DECODING = "decoding"
    """The decoding parameters, as text; an option without a value is left out."""
    BUDGET = "budget"
    """The setting `budget`, a JSON object that names a limit without its prefix `budget_`."""
    FIELD = "field"
    """The manifest's own field with the name of the option."""
    MODEL = "model"
    """The setting with the name of the option. It holds the name of the model that was opened, and
    is left out if that is the run's model."""


class Option(NamedTuple):
    """The part of an option's declaration beside its type and default."""

    help: str
    metavar: str = ""
    recorded: ManifestPart = ManifestPart.SETTINGS
    """The part of the manifest that records an option of a run."""
    before: str | None = None
    """The value assumed for records older than the option; None if every record has it."""
    earlier: Mapping[str, str] = {}
    """Values of earlier versions, as text, with those that replaced them."""
    singular: str = ""
    """The name of the flag that gives one item of a list; it may be repeated."""


_Count = Annotated[int, msgspec.Meta(ge=0)]
_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Amount = Annotated[float, msgspec.Meta(gt=0)]
_Temperature = Annotated[float, msgspec.Meta(ge=0, le=2)]


class Options(Value):
    """The options of a run. The manifest records all of them."""

    planner: Annotated[
        Planner,
        Option(
            "how to plan; task: no call, the interface of the task is the plan; sketch: one call,"
            " Python stubs; staged: eight roles in turn"
        ),
    ] = Planner.TASK
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
        SecondOpinions,
        Option(
            "if the evidence does not identify the faulty node, request another implementation;"
            " blind: without the present code and the failure; informed: with them",
            before=SecondOpinions.NONE.value,
            earlier={"true": SecondOpinions.BLIND.value, "false": SecondOpinions.NONE.value},
        ),
    ] = SecondOpinions.BLIND
    second_opinions_by: Annotated[
        str | None,
        Option(
            "the model that writes second opinions (default: the run's model)",
            "MODEL",
            ManifestPart.MODEL,
        ),
    ] = None
    specialists: Annotated[
        bool,
        Option("with --build node: use the specialist prompt of each node's kind", before="true"),
    ] = True
    adjudication: Annotated[
        AutoSwitch,
        Option(
            "if only a generated check fails, ask who is wrong, the check or the program;"
            " auto: unless the model is a small one",
            before=AutoSwitch.OFF.value,
        ),
    ] = AutoSwitch.AUTO
    max_adjudications: Annotated[
        _Count, Option("maximum number of failing checks to ask about", "K", before="0")
    ] = 3
    edge_cases: Annotated[
        AutoSwitch,
        Option(
            "unless the planner is staged: before the code, ask for edge cases that the program is"
            " checked with; auto: unless the model is a small one",
            before=AutoSwitch.OFF.value,
        ),
    ] = AutoSwitch.AUTO
    drafts: Annotated[
        _Count | None,
        Option(
            "maximum number of drafts of the first code, of which one is chosen by execution; 0:"
            " none, the first reply is the code (default: by the model)",
            "N",
        ),
    ] = None
    max_search_runs: Annotated[
        _Count,
        Option(
            "maximum number of programs that are tried to combine the parts of drafts",
            "N",
            before="0",
        ),
    ] = 60
    budget_tokens: Annotated[
        _Positive | None,
        Option("maximum number of tokens for the run", "N", ManifestPart.BUDGET),
    ] = None
    budget_usd: Annotated[
        _Amount | None,
        Option("maximum cost of the run in US dollars", "USD", ManifestPart.BUDGET),
    ] = None
    plan_tokens: Annotated[
        _Positive | None,
        Option("maximum tokens of a plan (default: by the model)", "N"),
    ] = None
    code_tokens: Annotated[
        _Positive | None,
        Option("maximum tokens of a reply with first code (default: by the model)", "N"),
    ] = None
    repair_tokens: Annotated[
        _Positive | None,
        Option("maximum tokens of a reply in a repair (default: by the model)", "N"),
    ] = None
    check_tokens: Annotated[
        _Positive | None,
        Option("maximum tokens of a reply that checks code (default: by the model)", "N"),
    ] = None
    reasoning_tokens: Annotated[
        _Count | None,
        Option("tokens for reasoning, added to each limit (default: by the model)", "N"),
    ] = None
    max_reply_tokens: Annotated[
        _Positive | None,
        Option(
            "maximum tokens of any reply, reasoning included; a reply that was cut is requested"
            " again with up to this many (default: by the model)",
            "N",
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option("the random seed, for models that support one", "N", ManifestPart.FIELD),
    ] = None
    temperature: Annotated[
        _Temperature,
        Option("sampling temperature of first answers", "T", ManifestPart.DECODING),
    ] = 0.0
    repair_temperature: Annotated[
        _Temperature,
        Option("sampling temperature of regenerated code", "T", ManifestPart.DECODING),
    ] = 0.5
    """Higher than `temperature`, so that a rejected answer is not simply repeated."""
    draft_temperature: Annotated[
        _Temperature,
        Option(
            "sampling temperature of all drafts but the first",
            "T",
            ManifestPart.DECODING,
            before="0.8",
        ),
    ] = 0.8

    def __post_init__(self) -> None:
        """Raise ValueError if an option has a value that its declaration does not allow."""
        for spec in option_specs(type(self)):
            value = getattr(self, spec.name)
            if write_value(value) in spec.option.earlier:
                msgspec.structs.force_setattr(self, spec.name, spec.convert(value))
            else:
                spec.check(value)

    def decided(self, traits: Traits) -> "Options":
        """Return the options of a run with a model that has these traits."""
        return msgspec.structs.replace(
            self,
            drafts=_drafts_by(traits) if self.drafts is None else self.drafts,
            adjudication=self.adjudication.decided(traits),
            edge_cases=self.edge_cases.decided(traits),
        )

    @property
    def budget(self) -> Budget:
        """The token and cost limits as a budget."""
        limits = recorded_values(self, ManifestPart.BUDGET)
        return Budget(**{_limit(name): value for name, value in limits.items()})


def _drafts_by(traits: Traits) -> int:
    """Return the number of drafts for a model; a strong one is told what failed instead."""
    return 6 if traits.limits.small else 3


class OptionSpec(NamedTuple):
    """One declared option, with the names derived from it."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """The command-line flag."""
        return "--" + (self.option.singular or self.name).replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return "AUDITCODER_" + self.name.upper()

    @property
    def is_switch(self) -> bool:
        """Whether the option is a boolean."""
        return _bare(self.type) is bool

    @property
    def is_list(self) -> bool:
        """Whether the option is a list of texts."""
        return get_origin(_bare(self.type)) is tuple

    @property
    def is_optional(self) -> bool:
        """Whether the option may be None."""
        return _declared(self.type) is not self.type

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
        value = self.option.earlier.get(write_value(value), value)
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
    float: "a number",
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
def option_specs(declaration: type[Value] = Options) -> tuple[OptionSpec, ...]:
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


def recorded_values(options: Options, part: ManifestPart) -> dict[str, Any]:
    """Return the values that a part of the manifest records, by option; None is left out."""
    values = {
        spec.name: getattr(options, spec.name)
        for spec in option_specs(type(options))
        if spec.option.recorded is part
    }
    return {name: value for name, value in values.items() if value is not None}


def recorded_texts(options: Options, part: ManifestPart) -> dict[str, str]:
    """Return the values that a part of the manifest records, as text."""
    values = recorded_values(options, part)
    return {name: write_value(value) for name, value in values.items()}


def read_options(manifest: Manifest, declaration: type[Options] = Options) -> Options:
    """Return recorded options; raise KeyError or ValueError if one is missing or invalid."""
    specs = option_specs(declaration)
    return declaration(**{spec.name: _read_option(spec, manifest) for spec in specs})


def _read_option(spec: OptionSpec, manifest: Manifest) -> Any:
    match spec.option.recorded:
        case ManifestPart.SETTINGS | ManifestPart.MODEL:
            return _read_text(spec, manifest.settings)
        case ManifestPart.DECODING:
            return _read_text(spec, manifest.decoding)
        case ManifestPart.BUDGET:
            budget = msgspec.json.decode(manifest.settings["budget"], type=Budget)
            return getattr(budget, _limit(spec.name))
        case ManifestPart.FIELD:
            return getattr(manifest, spec.name)
        case part:
            assert_never(part)


def _read_text(spec: OptionSpec, texts: Mapping[str, str]) -> Any:
    text = texts.get(spec.name, spec.option.before)
    if text is not None:
        return spec.convert(text)
    if spec.is_optional:
        return None
    raise KeyError(spec.name)


def _limit(name: str) -> str:
    """Return the field of `Budget` that an option sets."""
    return name.removeprefix("budget_")
