"""From what a user wrote to a task: front matter, form, title and public examples."""

import ast
import re
import tomllib
from collections.abc import Iterable, Mapping
from keyword import iskeyword
from pathlib import PurePosixPath
from typing import Any

import msgspec

from auditcoder.domain.binding import PARSE_ERRORS
from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    Form,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.values import Value
from auditcoder.lifecycle import samples

LONGEST = 200_000
"""The most characters that a task may have."""

FORMS = ("program", "function", "class", "files")

_LONGEST_TITLE = 80
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S[^\n]*)$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n[ \t]*\n")


class TaskOptions(Value):
    """What the user said beside the text; it wins over what the text's front matter says."""

    form: str | None = None
    entry: str | None = None
    signature: str | None = None
    title: str | None = None
    seconds: float | None = None
    memory_mb: int | None = None
    source: str = ""
    artefacts: tuple[str, ...] = ()


NOTHING_SAID = TaskOptions()


class FrontMatter(Value):
    """What a task's text says about itself, between two lines of `+++`."""

    title: str = ""
    form: str | None = None
    entry: str | None = None
    signature: str | None = None
    class_name: str | None = msgspec.field(name="class", default=None)
    skeleton: str | None = None
    seconds: float | None = None
    memory_mb: int | None = None
    source: str = ""
    inputs: str | tuple[str, ...] | None = None
    """A folder beside the task's file, or the names of the files that will be given."""
    expected: str | None = None
    """A folder beside the task's file, with the artefacts that those inputs must leave."""
    artefacts: tuple[str, ...] = ()
    examples: tuple[dict[str, Any], ...] = ()


class _Table(Value):
    """An example as a file gives it; which fields it may have depends on the form."""

    input: str | None = None
    output: str | None = None
    arguments: str | None = None
    call: str | None = None
    result: str | None = None
    code: str | None = None
    inputs: dict[str, str] | None = None
    artefacts: dict[str, str] | None = None
    explanation: str = ""


def make_task(
    text: str,
    options: TaskOptions = NOTHING_SAID,
    examples: tuple[Example, ...] = (),
    inputs: Mapping[str, str] | None = None,
) -> Task:
    """Make a task of a text; `inputs` are the texts of the folder that its front matter names."""
    matter, statement = split_front_matter(text)
    form = _form(statement, options, matter, inputs)
    given = examples_of(matter.examples, form, "the front matter") + _fitting(examples, form)
    if inputs and not any(isinstance(example, FilesExample) for example in given):
        given += (FilesExample(inputs=dict(inputs), artefacts={}),)
    form = _with_names(form, given)
    return Task(
        title=_title(options.title or matter.title, statement, form),
        statement=statement,
        form=form,
        examples=_merged(given, _found(statement, form)),
        limits=_limits(options, matter),
        source=options.source or matter.source,
    )


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """Return what a text says about itself, and its statement, after checking that it is text."""
    if len(text) > LONGEST:
        raise TaskInvalid(
            "task.too-large",
            f"the task has {len(text):,} characters; at most {LONGEST:,} are read",
            "shorten the statement, and give large examples with --tests",
        )
    _check_characters(text)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip()
    lines = text.split("\n")
    matter = FrontMatter()
    if lines[0].rstrip() == "+++":
        end = next((n for n, line in enumerate(lines) if n and line.rstrip() == "+++"), None)
        if end is None:
            raise _bad_front_matter("it begins with a line +++ and no second one ends it")
        matter = _front_matter("\n".join(lines[1:end]))
        text = "\n".join(lines[end + 1 :]).strip()
    elif lines[0].rstrip() == "---" and _looks_like_yaml(lines):
        raise _bad_front_matter("it is YAML between lines ---")
    if not text:
        raise TaskInvalid(
            "task.empty",
            "the task has no statement",
            "say in words what the program is to do, after the front matter if there is one",
        )
    return matter, text


def _check_characters(text: str) -> None:
    found = "a NUL character" if "\0" in text else ""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = f"half of a character at position {error.start}"
    if found:
        raise TaskInvalid(
            "task.encoding",
            f"the task holds {found}, so it is not text",
            "save it as plain text in UTF-8",
        )


def _looks_like_yaml(lines: list[str]) -> bool:
    """Whether a block between two `---` holds keys; a statement may begin with a rule as well."""
    ends = [n for n, line in enumerate(lines) if line.rstrip() == "---"]
    block = [line for line in lines[1 : ends[1]] if line.strip()] if len(ends) > 1 else []
    return bool(block) and re.match(r"[A-Za-z_][\w-]*+:(?:\s|$)", block[0]) is not None


def _front_matter(source: str) -> FrontMatter:
    try:
        return msgspec.convert(tomllib.loads(source), FrontMatter)
    except (ValueError, RecursionError) as error:
        raise _bad_front_matter(str(error)) from error


def _bad_front_matter(why: str) -> TaskInvalid:
    known = ", ".join(FrontMatter.__struct_encode_fields__)
    return TaskInvalid(
        "task.front-matter",
        f"the task's front matter cannot be used: {why}",
        f"write it as TOML between two lines +++ at the very start; it may set {known}",
    )


def _limits(options: TaskOptions, matter: FrontMatter) -> Limits:
    seconds = matter.seconds if options.seconds is None else options.seconds
    memory = matter.memory_mb if options.memory_mb is None else options.memory_mb
    fair = (seconds is None or 0 < seconds <= 86_400) and (memory is None or 0 < memory <= 1 << 20)
    if not fair:
        raise TaskInvalid(
            "task.limits",
            f"the task's limits of {seconds} seconds and {memory} MB are out of range",
            "give seconds above 0 and up to 86400, and memory_mb from 1 to 1048576, or neither",
        )
    return Limits(seconds=seconds, memory_mb=memory)


def _title(given: str, statement: str, form: Form) -> str:
    """Return the title that was given, or else the first heading, or else what is said first."""
    title = " ".join(given.split())
    if not title and (code := samples.open_code(statement)):
        title = form.entry if isinstance(form, FunctionForm) else code.name
    if not title:
        prose = samples.split_fences(statement)[0]
        headings = (h[1] for h in _HEADING.finditer(prose) if not samples.names_a_part(h[1]))
        title = next(headings, "") or _SENTENCE_END.split(prose.strip(), maxsplit=1)[0]
        title = " ".join(title.split()).strip("#*_= ") or " ".join(statement.split())
    if len(title) <= _LONGEST_TITLE:
        return title
    cut = title[: _LONGEST_TITLE - 1]
    return f"{cut[: cut.rfind(' ', _LONGEST_TITLE // 2)].rstrip()}…"


def _form(
    statement: str,
    options: TaskOptions,
    matter: FrontMatter,
    inputs: Mapping[str, str] | None,
) -> Form:
    """Settle the form: as the user said, as the front matter says, as the statement looks."""
    owned = {
        "function": matter.signature,
        "class": matter.class_name or matter.skeleton,
        "files": matter.inputs or matter.artefacts or matter.expected,
    }
    kind = _kind(matter.form, matter.entry, owned)
    mine = {"function": options.signature, "files": options.artefacts, "class": kind == "class"}
    if options.form or options.signature or options.artefacts:
        mine["class"] = None
    said = _kind(options.form, options.entry, mine)
    if said is not None and said != kind:
        # What the front matter says of another form is overruled along with it.
        matter = FrontMatter()
    match said or kind or ("files" if inputs else None):
        case None:
            found = samples.find_open(statement)
            return ProgramForm() if found is None else found.form()
        case "function":
            return _function(statement, options, matter)
        case "class":
            return _class(statement, matter, options.entry or matter.class_name or matter.entry)
        case "files":
            return _files(options, matter, inputs)
        case _:
            return ProgramForm()


def _kind(form: str | None, entry: str | None, owned: Mapping[str, object]) -> str | None:
    """Return the form that is named, or that what else is said belongs to, if they agree."""
    if form is not None and form not in FORMS:
        raise TaskInvalid(
            "task.form", f"there is no form {form!r}", f"the forms are {', '.join(FORMS)}"
        )
    implied = [kind for kind, value in owned.items() if value]
    if entry and form != "class" and "class" not in implied:
        implied.append("function")
    settled = form or next(iter(implied), None)
    if foreign := set(implied) - {settled}:
        raise TaskInvalid(
            "task.form",
            f"the task is said to be of form {settled}, and what else is said of it"
            f" belongs to form {min(foreign)}",
            "entry is of a function or class; signature of a function; class and skeleton of a"
            " class; inputs, artefacts and expected of files: leave out what does not belong",
        )
    return settled


def _function(statement: str, options: TaskOptions, matter: FrontMatter) -> FunctionForm:
    entry = options.entry or (None if options.signature else matter.entry)
    given = options.signature or matter.signature
    if entry is not None and (not entry.isidentifier() or iskeyword(entry)):
        raise _bad_signature(f"{entry!r} cannot be the name of a function")
    found = None if given is None else samples.header(given)
    if given is not None and found is None:
        raise _bad_signature(f"{given!r} is no function's header")
    if found is not None and entry not in {None, found.name}:
        if options.signature or not options.entry:
            raise _bad_signature(f"the signature is of {found.name}, and the entry is {entry}")
        found = None  # the front matter's signature is overruled
    found = found or samples.find_function(statement, entry)
    if found is not None:
        return found.form()
    if entry is None:
        raise _bad_signature("it asks for a function, and does not say which")
    return FunctionForm(entry=entry)


def _bad_signature(why: str) -> TaskInvalid:
    return TaskInvalid(
        "task.signature",
        f"the task's function is unclear: {why}",
        "give its name as entry, or its header as signature: def f(xs: list[int]) -> int",
    )


def _class(statement: str, matter: FrontMatter, name: str | None) -> ClassForm:
    if matter.skeleton is None:
        found = samples.find_class(statement, name)
    else:
        found = samples.class_in(matter.skeleton, name)
    if found is None:
        wanted = f"the class {name}" if name else "a class"
        where = "statement" if matter.skeleton is None else "front matter's skeleton"
        raise TaskInvalid(
            "task.skeleton",
            f"the {where} holds no Python that parses and defines {wanted}",
            "put the class, with the headers of its methods, into a ```python block",
        )
    return found.form()


def _files(
    options: TaskOptions, matter: FrontMatter, inputs: Mapping[str, str] | None
) -> FilesForm:
    folders = [key for key in ("inputs", "expected") if isinstance(getattr(matter, key), str)]
    if folders and inputs is None:
        raise TaskInvalid(
            "task.unreadable",
            f"the front matter's {folders[0]} names a folder, and there is none beside this text",
            "save the task as a file next to the folder, and name that file",
        )
    if matter.expected is not None and not isinstance(matter.inputs, str):
        raise _bad_front_matter("expected names a folder, and inputs does not")
    listed = () if matter.inputs is None or isinstance(matter.inputs, str) else matter.inputs
    names = tuple(inputs) if inputs is not None else listed
    artefacts = options.artefacts or matter.artefacts
    for name in (*names, *artefacts):
        if not is_file_name(name):
            raise _bad_front_matter(f"{name!r} cannot be the name of a file in a folder")
    return FilesForm(inputs=names, artefacts=artefacts)


def is_file_name(name: str) -> bool:
    """Whether `name` stays inside the folder that it is taken in, and has one spelling."""
    path = PurePosixPath(name)
    plain = name.isprintable() and "\\" not in name and str(path) == name and len(name) <= 255
    return plain and name != "." and not path.is_absolute() and ".." not in path.parts


def _with_names(form: Form, examples: tuple[Example, ...]) -> Form:
    """Let a files task's examples name its files where nothing else does."""
    if not isinstance(form, FilesForm):
        return form
    files = [example for example in examples if isinstance(example, FilesExample)]
    inputs = dict.fromkeys(name for example in files for name in example.inputs)
    artefacts = dict.fromkeys(name for example in files for name in example.artefacts)
    return FilesForm(
        inputs=form.inputs or tuple(inputs), artefacts=form.artefacts or tuple(artefacts)
    )


def examples_of(tables: Iterable[object], form: Form, where: str) -> tuple[Example, ...]:
    """Read examples as a file gives them, each of the shape that the form asks for."""
    result = []
    for number, table in enumerate(tables, 1):
        place = f"example {number} of {where}"
        try:
            result.append(_example(msgspec.convert(table, _Table), form))
        except (msgspec.ValidationError, _Misshapen) as error:
            raise _bad_example(place, str(error), form) from error
    return tuple(result)


class _Misshapen(Exception):
    """An example is not what it should be; the text says why."""


_SHAPES = {
    ProgramForm: "input and output",
    FunctionForm: "arguments (or call) and result, each Python as text; or code",
    ClassForm: "code",
    FilesForm: "inputs and artefacts, each a table of names and texts",
}


_KINDS: dict[type[Form], tuple[type[Example], ...]] = {
    ProgramForm: (StdioExample,),
    FunctionForm: (CallExample, CodeExample),
    ClassForm: (CodeExample,),
    FilesForm: (FilesExample,),
}


def _fitting(examples: tuple[Example, ...], form: Form) -> tuple[Example, ...]:
    for number, example in enumerate(examples, 1):
        if not isinstance(example, _KINDS[type(form)]):
            what = type(example).__struct_config__.tag
            raise _bad_example(f"example {number}", f"it is a {what} example", form)
    return examples


def _bad_example(place: str, why: str, form: Form) -> TaskInvalid:
    kind = type(form).__struct_config__.tag
    return TaskInvalid(
        "task.example",
        f"{place} cannot be used: {why}",
        f"an example of a {kind} task has {_SHAPES[type(form)]}; it may have an explanation",
    )


def _example(table: _Table, form: Form) -> Example:
    fields = msgspec.structs.asdict(table)
    given = {name for name, value in fields.items() if value is not None} - {"explanation"}
    why = table.explanation
    match form, sorted(given):
        case ProgramForm(), ["input", "output"]:
            return StdioExample(input=table.input or "", output=table.output or "", explanation=why)
        case FunctionForm(), ["arguments", "result"]:
            return _call(table.arguments or "", table.result or "", why)
        case FunctionForm(entry=entry), ["call", "result"]:
            return _call(_arguments_of(table.call or "", entry), table.result or "", why)
        case FunctionForm() | ClassForm(), ["code"]:
            if samples.parsed(table.code or "") is None:
                raise _Misshapen("its code is not Python")
            return CodeExample(code=table.code or "", explanation=why)
        case FilesForm(), ["artefacts", "inputs"] | ["inputs"]:
            inputs, artefacts = table.inputs or {}, table.artefacts or {}
            if bad := [name for name in (*inputs, *artefacts) if not is_file_name(name)]:
                raise _Misshapen(f"{bad[0]!r} cannot be the name of a file in a folder")
            return FilesExample(inputs=inputs, artefacts=artefacts, explanation=why)
        case _:
            raise _Misshapen(f"it has {', '.join(sorted(given)) or 'nothing'}")


def _arguments_of(call: str, entry: str) -> str:
    call = call.strip()
    if re.match(rf"{re.escape(entry)}\s*+\(", call) is None or not call.endswith(")"):
        raise _Misshapen(f"{call!r} is no call of {entry}")
    return call[call.index("(") + 1 : -1]


def _call(arguments: str, result: str, explanation: str) -> CallExample:
    arguments, result = arguments.strip(), result.strip()
    if _dump(f"f({arguments})", call=True) is None:
        raise _Misshapen(f"its arguments {arguments!r} are not what stands between a call's ()")
    if _dump(result) is None:
        raise _Misshapen(f"its result {result!r} is no Python expression")
    return CallExample(arguments=arguments, result=result, explanation=explanation)


def _dump(text: str, *, call: bool = False) -> str | None:
    """Return an expression's meaning, whatever its spelling; None if it is none."""
    try:
        node = samples.expression(text)
        # `1)(2` stands between the brackets of a call, and is no argument.
        if call and not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return None
        return ast.dump(node)
    except PARSE_ERRORS:
        return None


def _found(statement: str, form: Form) -> list[Example]:
    match form:
        case ProgramForm():
            return [*samples.find_stdio(statement)]
        case FunctionForm(entry=entry):
            return [*samples.find_calls(statement, entry)]
        case _:
            return []


def _merged(given: tuple[Example, ...], found: list[Example]) -> tuple[Example, ...]:
    """Join examples, each once; what was given must agree, what was found gives way."""
    kept: dict[object, tuple[int, Example]] = {}
    for number, example in enumerate(given, 1):
        asked = _asked(example)
        first, other = kept.setdefault(asked, (number, example))
        if not _agree(other, example):
            raise TaskInvalid(
                "task.contradiction",
                f"given examples {first} and {number} ask the same and expect different answers",
                "correct or remove one of them; the front matter's are counted first,"
                " then those of --tests",
            )
    doubtful = set()
    for example in found:
        asked = _asked(example)
        number, other = kept.setdefault(asked, (0, example))
        if number == 0 and not _agree(other, example):
            doubtful.add(asked)
    return tuple(example for asked, (_, example) in kept.items() if asked not in doubtful)


def _asked(example: Example) -> object:
    """Return what an example puts to the program, alike for examples that ask the same."""
    match example:
        case StdioExample(input=text):
            return ("stdio", text.rstrip("\n"))
        case CallExample(arguments=arguments):
            return ("call", _dump(f"f({arguments})", call=True) or arguments)
        case CodeExample(code=code):
            return ("code", code)
        case FilesExample(inputs=inputs):
            return ("files", frozenset(inputs.items()))


def _agree(one: Example, other: Example) -> bool:
    match one, other:
        case StdioExample(output=left), StdioExample(output=right):
            return _trimmed(left) == _trimmed(right)
        case CallExample(result=left), CallExample(result=right):
            return _dump(left) == _dump(right)
        case FilesExample(artefacts=files), FilesExample(artefacts=others):
            return files == others
        case _:
            return True


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]
