"""Makes a task from a user's text: its form, title, limits and public examples."""

from collections.abc import Mapping
from keyword import iskeyword

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.task import (
    ClassForm,
    Example,
    FilesExample,
    FilesForm,
    Form,
    FunctionForm,
    Limits,
    ProgramForm,
    Task,
)
from auditcoder.lifecycle.intake.code_headers import (
    class_in,
    find_class,
    find_function,
    find_open,
    header,
)
from auditcoder.lifecycle.intake.example_checks import examples_of, fitting, found_in, merged
from auditcoder.lifecycle.intake.front_matter import (
    FrontMatter,
    TaskOptions,
    bad_front_matter,
    check_characters,
    is_file_name,
    split_front_matter,
)
from auditcoder.lifecycle.intake.title import title_of

__all__ = ["FORMS", "NO_TASK_OPTIONS", "TaskOptions", "make_task"]

FORMS = ("program", "function", "class", "files")

NO_TASK_OPTIONS = TaskOptions()


def make_task(
    text: str,
    options: TaskOptions = NO_TASK_OPTIONS,
    examples: tuple[Example, ...] = (),
    inputs: Mapping[str, str] | None = None,
) -> Task:
    """Make a task from a text; `inputs` are the files of the folder that its front matter names."""
    for name in options.__struct_fields__:
        if isinstance(value := getattr(options, name), str):
            check_characters(value, f"the option {name}")
    matter, statement = split_front_matter(text)
    form = _form(statement, options, matter, inputs)
    given = examples_of(matter.examples, form, "the front matter") + fitting(examples, form)
    if inputs and not any(isinstance(example, FilesExample) for example in given):
        given += (FilesExample(inputs=dict(inputs), artefacts={}),)
    form = _with_names(form, given)
    return Task(
        title=title_of(options.title or matter.title or "", statement, form),
        statement=statement,
        form=form,
        examples=merged(given, found_in(statement, form)),
        limits=_limits(options, matter),
        source=options.source or matter.source or "",
    )


def _limits(options: TaskOptions, matter: FrontMatter) -> Limits:
    seconds = matter.seconds if options.seconds is None else options.seconds
    memory = matter.memory_mb if options.memory_mb is None else options.memory_mb
    valid = (seconds is None or 0 < seconds <= 86_400) and (memory is None or 0 < memory <= 1 << 20)
    if not valid:
        raise TaskInvalid(
            "task.limits",
            f"the task's limits of {seconds} seconds and {memory} MB are out of range",
            "give seconds above 0 and up to 86400, and memory_mb from 1 to 1048576, or neither",
        )
    return Limits(seconds=seconds, memory_mb=memory)


def _form(
    statement: str,
    options: TaskOptions,
    matter: FrontMatter,
    inputs: Mapping[str, str] | None,
) -> Form:
    """Return the form that the user, else the front matter, else the statement determines."""
    of_matter = {
        "function": matter.signature,
        "class": matter.class_name or matter.skeleton,
        "files": matter.inputs or matter.artefacts or matter.expected,
    }
    kind = _kind(matter.form, matter.entry, of_matter)
    of_user = {"function": options.signature, "files": options.artefacts, "class": kind == "class"}
    if options.form or options.signature or options.artefacts:
        of_user["class"] = None
    chosen = _kind(options.form, options.entry, of_user)
    if chosen is not None and chosen != kind:
        # The user chose another form, so the front matter does not apply.
        matter = FrontMatter()
    match chosen or kind or ("files" if inputs else None):
        case None:
            code = find_open(statement)
            return ProgramForm() if code is None else code.form()
        case "function":
            return _function(statement, options, matter)
        case "class":
            return _class(statement, matter, options.entry or matter.class_name or matter.entry)
        case "files":
            return _files(options, matter, inputs)
        case _:
            return ProgramForm()


def _kind(form: str | None, entry: str | None, settings: Mapping[str, object]) -> str | None:
    """Return the form that is named or that other settings imply; raise TaskInvalid on conflict.

    `settings` holds, for each form, the settings that only this form has.
    """
    if form is not None and form not in FORMS:
        raise TaskInvalid(
            "task.form", f"there is no form {form!r}", f"the forms are {', '.join(FORMS)}"
        )
    implied = [kind for kind, value in settings.items() if value]
    if entry and form != "class" and "class" not in implied:
        implied.append("function")
    settled = form or next(iter(implied), None)
    if foreign := set(implied) - {settled}:
        raise TaskInvalid(
            "task.form",
            f"the task has the form {settled}, but some of its settings"
            f" belong to the form {min(foreign)}",
            "remove the settings of other forms: a function has entry and signature; a class has"
            " entry, class and skeleton; files have inputs, artefacts and expected",
        )
    return settled


def _function(statement: str, options: TaskOptions, matter: FrontMatter) -> FunctionForm:
    entry = options.entry or (None if options.signature else matter.entry)
    given = options.signature or matter.signature
    if entry is not None and (not entry.isidentifier() or iskeyword(entry)):
        raise _bad_signature(f"{entry!r} cannot be the name of a function")
    found = None if given is None else header(given)
    if given is not None and found is None:
        raise _bad_signature(f"{given!r} is not the header of a function")
    if found is not None and entry not in {None, found.name}:
        if options.signature or not options.entry:
            raise _bad_signature(f"the signature defines {found.name}, and the entry is {entry}")
        found = None  # the user's entry overrides the front matter's signature
    found = found or find_function(statement, entry)
    if found is not None:
        return found.form()
    if entry is None:
        raise _bad_signature("the task does not name it")
    return FunctionForm(entry=entry)


def _bad_signature(why: str) -> TaskInvalid:
    return TaskInvalid(
        "task.signature",
        f"the task's function is unclear: {why}",
        "give its name as entry, or its header as signature: def f(xs: list[int]) -> int",
    )


def _class(statement: str, matter: FrontMatter, name: str | None) -> ClassForm:
    if matter.skeleton is None:
        found = find_class(statement, name)
    else:
        found = class_in(matter.skeleton, name)
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
            f"the front matter's {folders[0]} names a folder, but there is none beside this text",
            "save the task as a file next to the folder, and name that file",
        )
    if matter.expected is not None and not isinstance(matter.inputs, str):
        raise bad_front_matter("expected names a folder, but inputs does not")
    listed = () if matter.inputs is None or isinstance(matter.inputs, str) else matter.inputs
    names = tuple(inputs) if inputs is not None else listed
    artefacts = options.artefacts or matter.artefacts
    for name in (*names, *artefacts):
        if not is_file_name(name):
            raise bad_front_matter(f"{name!r} is not a valid file name")
    return FilesForm(inputs=names, artefacts=artefacts)


def _with_names(form: Form, examples: tuple[Example, ...]) -> Form:
    """Return the form of a files task with the file names of its examples, if it has none."""
    if not isinstance(form, FilesForm):
        return form
    files = [example for example in examples if isinstance(example, FilesExample)]
    inputs = dict.fromkeys(name for example in files for name in example.inputs)
    artefacts = dict.fromkeys(name for example in files for name in example.artefacts)
    return FilesForm(
        inputs=form.inputs or tuple(inputs), artefacts=form.artefacts or tuple(artefacts)
    )
