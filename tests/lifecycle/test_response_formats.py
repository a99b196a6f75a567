"""Specification of the response formats: how a value is read from a model's reply."""

import ast
import json

import msgspec
import pytest

from auditcoder.domain.request import FinishReason, Reply
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.response_formats import (
    FormatMismatch,
    FreeText,
    JsonValue,
    ParsedPython,
    PythonBlock,
    ResponseFormat,
    blocks,
    closed_schema,
)


class Plan(msgspec.Struct, forbid_unknown_fields=True):
    steps: list[str]
    cost: int = 1


class Outline(msgspec.Struct):
    plans: list[Plan]


def reply(text: str, finish: FinishReason = FinishReason.STOP) -> Reply:
    return Reply(text=text, finish=finish, usage=Usage())


FORMATS: list[ResponseFormat[object]] = [
    FreeText(),
    PythonBlock(),
    ParsedPython(ast.parse),
    JsonValue(Plan),
]


@pytest.mark.parametrize("shape", FORMATS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        (FinishReason.LENGTH, "cut off at the longest answer allowed"),
        (FinishReason.REPEATED, "only repeated itself"),
        (FinishReason.REFUSED, "was refused"),
    ],
)
def test_every_format_rejects_a_reply_that_did_not_finish(
    shape: ResponseFormat[object], finish: FinishReason, reason: str
) -> None:
    text = '```python\ndef f():\n    pass\n```\n```json\n{"steps": []}\n```'
    with pytest.raises(FormatMismatch, match=reason):
        shape.read(reply(text, finish))


@pytest.mark.parametrize("shape", FORMATS, ids=lambda s: type(s).__name__)
def test_every_format_rejects_a_blank_reply(shape: ResponseFormat[object]) -> None:
    with pytest.raises(FormatMismatch, match="it is empty"):
        shape.read(reply(" \n\t"))


def test_free_text_is_returned_unchanged() -> None:
    assert FreeText().read(reply(" as it\nis ")) == " as it\nis "
    assert FreeText().instruction() == ""


def test_blocks_are_returned_with_their_language_in_lower_case() -> None:
    text = "a\n```Python\nx = 1\n```\nb\n~~~\nplain\n~~~\n"
    assert blocks(text) == [("python", "x = 1\n"), ("", "plain\n")]


def test_a_block_without_an_end_reaches_to_the_end_of_the_text() -> None:
    assert blocks("```py\nx = 1\ny = 2") == [("py", "x = 1\ny = 2")]


def test_a_fence_inside_a_longer_fence_is_content() -> None:
    assert blocks("````md\n```py\nx\n```\n````") == [("md", "```py\nx\n```\n")]


@pytest.mark.parametrize(
    ("text", "found"),
    [("```" + "a" * 300_000, 0), ("`" * 300_000, 0), ("```\n" * 50_000, 25_000)],
)
def test_blocks_of_a_long_text_are_found_without_backtracking(text: str, found: int) -> None:
    assert len(blocks(text)) == found


def test_python_is_the_longest_block_of_its_language() -> None:
    shell = "```bash\nls -la --all --the --files\n```"
    text = f"```py\nx = 1\n```\n{shell}\n```python\nx = 1\ny = 2\n```"
    assert PythonBlock().read(reply(text)) == "x = 1\ny = 2\n"


def test_python_prefers_a_block_that_names_its_language() -> None:
    text = "```\nsome output that is rather long\n```\n```python3\nx = 1\n```"
    assert PythonBlock().read(reply(text)) == "x = 1\n"


def test_python_accepts_a_block_without_a_language() -> None:
    assert PythonBlock().read(reply("```\nx = 1\n```")) == "x = 1\n"


@pytest.mark.parametrize("code", ["def f():\n    return 1\n", "x = 1\nclass A: ...\n"])
def test_python_accepts_a_reply_that_is_itself_a_definition(code: str) -> None:
    assert PythonBlock().read(reply(code)) == code


@pytest.mark.parametrize("text", ["x = 1", "def f(:", "Sorry.", "```bash\nls\n```"])
def test_python_rejects_a_reply_without_code(text: str) -> None:
    with pytest.raises(FormatMismatch, match="no ```python block"):
        PythonBlock().read(reply(text))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"```python\nx = '{'a' * 100_000}'\n```", "its code has more than 100,000 characters"),
        ("```python\n" + "x\n" * 5_001 + "```", "its code has more than 5,000 lines"),
        ("```python\n" + "x;" * 5_001 + "```", "its code has more than 5,000 lines"),
        ("def f(): pass\n" * 8_000, "there is no ```python block"),
    ],
)
def test_code_that_takes_long_to_parse_is_rejected(text: str, why: str) -> None:
    with pytest.raises(FormatMismatch, match=why):
        PythonBlock().read(reply(text))


def test_long_json_is_rejected() -> None:
    text = json.dumps(["a" * 1_000] * 100)
    for written in (text, f"```json\n{text}\n```"):
        with pytest.raises(FormatMismatch, match="its JSON has more than 100,000 characters"):
            JsonValue(list[str]).read(reply(written))


def test_parsed_python_returns_what_its_reader_reads() -> None:
    shape = ParsedPython(lambda text: len(ast.parse(text).body))
    assert shape.read(reply("```python\nx = 1\ny = 2\n```")) == 2
    assert shape.instruction() == PythonBlock().instruction()


def test_parsed_python_names_what_cannot_be_parsed() -> None:
    with pytest.raises(FormatMismatch, match="the sketch cannot be read: SyntaxError"):
        ParsedPython(ast.parse, "sketch").read(reply("```python\nx = (\n```"))


def test_parsed_python_passes_on_the_mismatch_of_its_reader() -> None:
    def read(_text: str) -> None:
        raise FormatMismatch("two functions are missing")

    with pytest.raises(FormatMismatch, match=r"^two functions are missing$"):
        ParsedPython(read).read(reply("```python\nx = 1\n```"))


@pytest.mark.parametrize(
    "text",
    [
        '{"steps": ["a"]}',
        '\ufeff{"steps": ["a"]}',
        'Here:\n```json\n{"steps": ["a"]}\n```\nDone.',
        '```\n{"steps": ["a"]}\n```',
        '~~~json\n{"steps": ["a"]}\n~~~',
        '```json\n{"steps": ["a"]}',
        '```json\r\n{"steps": ["a"]}\r\n```\r\n',
    ],
)
def test_json_is_read_from_a_block_or_from_the_whole_reply(text: str) -> None:
    assert JsonValue(Plan).read(reply(text)) == Plan(["a"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"steps": "a"}', "not as asked for"),
        ('{"step": []}', "not as asked for"),
        ('{"steps": [], "extra": 1}', "not as asked for"),
        ("[]", "not as asked for"),
        ("sorry", "not JSON"),
        ('{"steps": ["\ud800"]}', "not JSON"),
        ("[" * 100_000, "JSON"),
    ],
)
def test_json_that_does_not_match_the_type_is_rejected_with_the_reason(
    text: str, reason: str
) -> None:
    with pytest.raises(FormatMismatch, match=reason):
        JsonValue(Plan).read(reply(text))


def test_the_instruction_for_json_shows_the_schema() -> None:
    shape = JsonValue(Plan)
    assert shape.instruction().endswith(f"\n{shape.schema}")
    assert JsonValue(Plan, '{"type": "object"}').schema == '{"type": "object"}'


def test_a_closed_schema_requires_every_property_and_allows_no_other() -> None:
    definitions = json.loads(closed_schema(Outline))["$defs"]
    assert definitions["Plan"]["required"] == ["steps", "cost"]
    assert definitions["Outline"]["required"] == ["plans"]
    assert all(d["additionalProperties"] is False for d in definitions.values())
