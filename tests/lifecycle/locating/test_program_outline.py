"""The outline of a program, read without running it."""

from auditcoder.lifecycle.locating.features import Feature, FeatureKind
from auditcoder.lifecycle.locating.program_outline import normal_form, outline, outline_features

PROGRAM = '''\
class Game:
    def __init__(self):
        self.deck = []

    def draw(self):
        """Draw a card."""
        return self.deck.pop()

async def wait(x):
    ...
'''


def test_functions_and_methods_are_found_by_qualified_name() -> None:
    assert list(outline(PROGRAM)) == ["Game.__init__", "Game.draw", "wait"]


def test_the_outline_holds_the_attributes_that_a_function_names() -> None:
    assert outline(PROGRAM)["Game.draw"].reads == {"deck", "pop"}


def test_a_function_with_only_a_stub_body_is_empty() -> None:
    assert {name: one.empty for name, one in outline(PROGRAM).items()} == {
        "Game.__init__": False,
        "Game.draw": False,
        "wait": True,
    }


def test_a_program_that_does_not_parse_has_no_outline() -> None:
    assert outline("def f(:\n") == {}


def test_docstrings_comments_and_order_do_not_change_what_a_program_does() -> None:
    one = "def f(x):\n    return x\ndef g(y):\n    return y\n"
    other = 'def g(y):\n    """Doc."""\n    return y  # same\n\n\ndef f(x):\n    return x\n'
    assert normal_form(one) == normal_form(other)


def test_bodies_and_arguments_change_what_a_program_does() -> None:
    texts = [
        "def f(x):\n    return x\n",
        "def f(x):\n    return x + 1\n",
        "def f(y):\n    return x\n",
        "def g(x):\n    return x\n",
    ]
    assert len({normal_form(text) for text in texts}) == len(texts)


def test_text_without_functions_stands_for_itself() -> None:
    assert normal_form("x = 1\n") == "x = 1\n"
    assert normal_form("def f(:\n") == "def f(:\n"


def test_features_say_what_is_absent_empty_uncalled_or_a_constructor() -> None:
    nodes = ["Game.__init__", "Game.draw", "wait", "lost"]
    assert set(outline_features(outline(PROGRAM), nodes, {"Game.__init__", "wait", "lost"})) == {
        Feature("Game.__init__", FeatureKind.CONSTRUCTOR),
        Feature("Game.draw", FeatureKind.UNCALLED),
        Feature("wait", FeatureKind.EMPTY),
        Feature("lost", FeatureKind.ABSENT),
    }


def test_nothing_is_uncalled_where_not_all_calls_are_known() -> None:
    assert list(outline_features(outline(PROGRAM), ["Game.draw"], None)) == []
