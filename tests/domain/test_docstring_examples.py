"""Examples in the docstrings of a class skeleton."""

from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.docstring_examples import stated_examples
from auditcoder.domain.task import ClassForm, FunctionForm, Task

SKELETON = '''\
import math

LIMIT = 3

class Store:
    """Keep items.

    >>> Store().size()
    0
    """

    def add(self, item, many=1):
        """Add an item.

        >>> store = Store()
        >>> store.add("a",
        ...     many=2)
        >>> store.size()
        2
        >>> store.items
        {"a": 2}

        Then:
        >>> store.size()
        2
        """

    def largest(self):
        """Return it.
        >>> math.floor(Store().largest() + LIMIT)
        3
        >>> Store().largest()
        <an object>
        >>> Store().largest() +
        4
        >>> print(Store().largest())
        '''


def codes(skeleton: str) -> list[str]:
    form = ClassForm(name="Store", skeleton=skeleton)
    task = Task(title="Store", statement="Write it.", form=form)
    return [example.code for example in stated_examples(task)]


def test_each_result_is_an_example_that_repeats_the_steps_before_it() -> None:
    first, second, third, *_ = codes(SKELETON + '"""')
    assert first == "assert (Store().size()) == (0)\n"
    setup = 'store = Store()\nstore.add("a",\n    many=2)\n'
    assert second == f"{setup}assert (store.size()) == (2)\n"
    assert third == f'{setup}store.size()\nassert (store.items) == ({{"a": 2}})\n'


def test_a_session_that_uses_a_name_of_another_session_is_left_out() -> None:
    one = SKELETON.replace("store = Store()", "shop = Store()") + '"""'
    assert not any("store.size" in code for code in codes(one))


def test_names_of_the_module_and_built_in_ones_are_known() -> None:
    assert "assert (math.floor(Store().largest() + LIMIT)) == (3)\n" in codes(SKELETON + '"""')


def test_results_that_are_no_literals_and_inputs_that_do_not_parse_are_left_out() -> None:
    found = "".join(codes(SKELETON + '"""'))
    assert "object" not in found
    assert "4" not in found


def test_other_forms_and_broken_skeletons_state_nothing() -> None:
    function = Task(title="f", statement=">>> f()\n1", form=FunctionForm(entry="f"))
    assert stated_examples(function) == ()
    assert codes("class Store:\n    def (") == []


@given(st.text(alphabet=">. \n()=1ax'\"\\", max_size=200))
def test_any_docstring_can_be_read(text: str) -> None:
    for code in codes(f"class Store:\n    {text!r}\n"):
        compile(code, "example", "exec")
