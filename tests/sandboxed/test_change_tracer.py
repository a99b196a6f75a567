"""A change has a place only if a line of the program was observed to make it."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
PROGRAM = """\
import functools

shared = {"x": 1}
setter = functools.partial(shared.__setitem__, "x")


def store():
    shared["x"] = 2


def call():
    shared.update(x=2)


def by_library():
    list(map(setter, [2]))


def by_thread():
    import threading

    thread = threading.Thread(target=shared.update, args=({"x": 2},))
    thread.start()
    thread.join()


def nothing():
    return shared["x"]
"""


def places_of(function: str, tmp_path: Path) -> list[str]:
    """Run a function of the program traced, in an interpreter of its own; return its report."""
    driver = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(SRC)!r})
        from auditcoder.sandboxed.change_tracer import trace_changes
        source = {PROGRAM!r}
        compiled = compile(source, "program.py", "exec")
        space = {{}}
        exec(compiled, space)
        codes = {{code: "program.py" for code in compiled.co_consts if hasattr(code, "co_code")}}
        shared, known, places = space["shared"], [1], []

        def is_unchanged():
            return shared["x"] == known[0]

        def attribute(place):
            known[0] = shared["x"]
            places.append(place)

        run = space[{function!r}]
        trace_changes(codes, is_unchanged, attribute)
        run()
        sys.settrace(None)
        sys.setprofile(None)
        print(*[place.line if place else "nobody" for place in places])
        """
    )
    path = tmp_path / "driver.py"
    path.write_text(driver, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("function", "statement"),
    [("store", 'shared["x"] = 2'), ("call", "shared.update(x=2)")],
)
def test_a_line_that_stores_something_is_the_place(
    function: str, statement: str, tmp_path: Path
) -> None:
    line = 1 + next(n for n, text in enumerate(PROGRAM.split("\n")) if statement in text)
    assert places_of(function, tmp_path) == [str(line)]


@pytest.mark.parametrize("function", ["by_library", "by_thread"])
def test_what_the_library_or_a_thread_does_has_no_place(function: str, tmp_path: Path) -> None:
    assert set(places_of(function, tmp_path)) <= {"nobody"}


def test_no_change_has_no_place(tmp_path: Path) -> None:
    assert places_of("nothing", tmp_path) == []
