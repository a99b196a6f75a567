"""The requirements of each task form for the root: its function, main block and given code."""

import ast
import re
import textwrap
from typing import NamedTuple, assert_never

from msgspec.structs import replace

from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.python_names import PARSE_ERRORS, Function, parse
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
    main_block,
)


class RootFunction(NamedTuple):
    """The entry function of a program and the code around it."""

    contract: Contract
    about: str = ""
    """Its calling convention, for prompts; empty if the task states it."""
    main: str = ""
    """The main block; empty if only tests call the function."""
    given: str = ""
    """Code that the task provides: imports and finished helpers."""
    fixed: bool = True
    """Whether the task fixes its parameters; otherwise the planner does."""

    @property
    def asked(self) -> str:
        """The root as planning prompts name it: the header, or the name if it is not fixed."""
        return self.contract.header() if self.fixed else self.contract.name


def root_of(task: Task) -> RootFunction:
    """Return the root function that the task's form requires; a class has none."""
    match task.form:
        case ProgramForm():
            return RootFunction(
                Contract(name="solve", params=(Param(name="data", type="str"),), returns="str"),
                "`solve` gets everything on standard input as one text without the last line"
                ' break: `data.split("\\n")` are its lines. It returns everything that goes to'
                " standard output.",
                main_block(task.form),
            )
        case FilesForm(inputs=inputs, artefacts=artefacts):
            read = ", ".join(inputs) or "the input files"
            written = ", ".join(artefacts) or "its results"
            return RootFunction(
                Contract(name="solve", returns="None"),
                f"`solve` reads {read} from the current folder and writes {written} there.",
                main_block(task.form),
            )
        case FunctionForm(entry=entry, signature=signature):
            given = given_code(task.statement, entry)
            if not signature:
                return RootFunction(Contract(name=entry), given=given, fixed=False)
            return RootFunction(_contract(signature), given=given)
        case ClassForm():
            raise AssertionError("a class is planned from its skeleton")


def _contract(signature: str) -> Contract:
    function = parse(f"{signature.strip().removesuffix(':')}:\n    ...").body[0]
    assert isinstance(function, Function)
    return contract_of(function)


def contract_of(function: Function) -> Contract:
    """Return a function's interface: its name, positional parameters and result."""
    arguments = function.args
    return Contract(
        name=function.name,
        params=tuple(
            Param(name=a.arg, type=ast.unparse(a.annotation) if a.annotation else "")
            for a in (*arguments.posonlyargs, *arguments.args)
        ),
        returns=ast.unparse(function.returns) if function.returns else "",
    )


def with_header_of(contract: Contract, source: str) -> Contract:
    """Return a contract with the parameters and the result of its function in `source`.

    Types that the code leaves out stay, and so do the descriptions of known parameters.
    """
    functions = [n for n in ast.walk(parse(source)) if isinstance(n, Function)]
    written = next((f for f in functions if f.name == contract.name), None)
    if written is None:
        return contract
    known = {param.name: param for param in contract.params}
    new = contract_of(written)
    params = [
        replace(known.get(param.name, param), type=param.type or known.get(param.name, param).type)
        for param in new.params
    ]
    return replace(contract, params=tuple(params), returns=new.returns or contract.returns)


def given_code(statement: str, entry: str) -> str:
    """Return the code before the entry function if the statement is itself Python."""
    try:
        body = parse(statement).body
    except PARSE_ERRORS:
        return ""
    kept = []
    for node in body:
        if isinstance(node, Function) and node.name == entry:
            break
        star = isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)
        if not isinstance(node, ast.Expr) and not star:  # a star import binds unknown names
            kept.append(ast.unparse(node))
    return "\n".join(kept) + "\n" if kept else ""


def is_stub(function: Function) -> bool:
    """Whether a function has no body beyond a docstring or a placeholder."""
    return all(map(is_placeholder, function.body))


def is_placeholder(statement: ast.stmt) -> bool:
    """Whether a statement is a placeholder: a constant, `pass` or NotImplementedError."""
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError")):
            return True
        case _:
            return False


def stub_text(header: str, docstring: str) -> str:
    """Return a function stub as a sketch shows it."""
    lines = textwrap.indent(
        f'"""{docstring}\n"""' if "\n" in docstring else f'"""{docstring}"""', "    "
    )
    return f"def {header}:\n{lines}\n    ...\n"


_SHOWN_EXAMPLES = 4
_SHOWN_LENGTH = 800


def shown_tests(task: Task) -> str:
    """Return the tests that the user lets prompts show, in a fenced block."""
    text = task.visible_tests
    if not text:
        return ""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"The program must pass these tests:\n{fence}\n{text}\n{fence}"


def shown_examples(task: Task) -> str:
    """Return the examples that the task's texts do not contain, as text for prompts."""
    shown = [e for e in task.examples if not (isinstance(e, CodeExample) and e.private)]
    texts = [text for e in shown if (text := _as_text(task, e))]
    return "\n\n".join(texts[:_SHOWN_EXAMPLES])


def shown_limits(task: Task) -> str:
    """Return the time and memory limits that the statement does not mention, as a sentence."""
    seconds, memory = task.limits.seconds, task.limits.memory_mb
    limits = [] if seconds is None else [f"{seconds:g} s"]
    limits += [] if memory is None else [f"{memory} MB of memory"]
    stated = re.search(r"(time|memory) limit", task.statement, re.IGNORECASE)
    return f"Limits of one run: {' and '.join(limits)}." if limits and not stated else ""


def _as_text(task: Task, example: Example) -> str:
    told = f"{task.statement}\n{task.visible_tests}"
    match example:
        case StdioExample(input=stdin, output=stdout):
            text = f"Example input:\n{stdin.rstrip()}\nExample output:\n{stdout.rstrip()}"
            known = stdin.strip() in told and stdout.strip() in told
        case CallExample(arguments=arguments, result=result):
            entry = task.form.entry if isinstance(task.form, FunctionForm) else "solve"
            text = f"Example: {entry}({arguments}) == {result}"
            known = arguments in told
        case CodeExample(code=code):
            text = f"Example of its use:\n{code.strip()}"
            known = code.strip() in told
        case FilesExample(inputs=inputs, artefacts=artefacts):
            files = [*inputs.items(), *artefacts.items()]
            text = "\n".join(f"Example of {name}:\n{content.rstrip()}" for name, content in files)
            known = False
        case _:
            assert_never(example)
    return "" if known or len(text) > _SHOWN_LENGTH else text


def stated(task: Task) -> str:
    """Return the task's statement, followed by examples, tests and limits that it lacks itself."""
    parts = (task.statement, shown_examples(task), shown_tests(task), shown_limits(task))
    return "\n\n".join(part for part in parts if part)


def wanted(task: Task) -> str:
    """Describe the code that the model has to write for this form of task."""
    match task.form:
        case ProgramForm():
            return "the complete program, which reads standard input and writes standard output"
        case FunctionForm(entry=entry, signature=signature):
            return f"the function `{signature or entry}` with everything that it needs"
        case ClassForm(name=name):
            return f"the complete class `{name}` with all of its methods and imports"
        case FilesForm(inputs=inputs, artefacts=artefacts):
            return (
                f"the complete program, which reads {', '.join(inputs) or 'the input files'} from"
                f" the current folder and writes {', '.join(artefacts) or 'its results'} there"
            )
        case _:
            assert_never(task.form)
