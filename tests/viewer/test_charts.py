"""Charts: well-formed SVG in which every value has its place and its label."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from auditcoder.viewer.charts import Bar, Point, bars, scatter

SVG = "{http://www.w3.org/2000/svg}"


def elements(svg: str, tag: str) -> list[ElementTree.Element]:
    """Return the elements of one kind."""
    return ElementTree.fromstring(svg).findall(f".//{SVG}{tag}")


def texts(svg: str) -> list[str]:
    """Return every label of a chart."""
    return [element.text or "" for element in elements(svg, "text")]


def test_a_chart_without_values_is_empty() -> None:
    assert scatter("t", "x", "y", []) == ""
    assert bars("t", []) == ""


@pytest.mark.parametrize("x", [0, -1])
def test_a_point_that_a_logarithmic_axis_cannot_show_is_omitted(x: float) -> None:
    shown = Point("shown", 100, 0.5, 0.4, 0.6)
    svg = scatter("t", "x", "y", [Point("hidden", x, 0.5, 0.4, 0.6), shown])
    assert "shown" in texts(svg)
    assert "hidden" not in texts(svg)
    assert scatter("t", "x", "y", [Point("hidden", x, 0.5, 0.4, 0.6)]) == ""


def test_points_are_ordered_as_their_values() -> None:
    low, high = Point("low", 10, 0.1, 0, 0.2), Point("high", 1000, 0.9, 0.8, 1)
    first, second = elements(scatter("t", "x", "y", [low, high]), "circle")
    assert float(first.attrib["cx"]) < float(second.attrib["cx"])
    assert float(first.attrib["cy"]) > float(second.attrib["cy"])


def test_labels_of_equal_points_do_not_overlap() -> None:
    points = [Point(f"label {n}", 10, 0.0, 0, 0.1) for n in range(8)]
    labels = [t for t in elements(scatter("t", "x", "y", points), "text") if "label" in str(t.text)]
    heights = sorted(float(t.attrib["y"]) for t in labels)
    assert all(below - above >= 14.9 for above, below in pairwise(heights))


def test_the_parts_of_a_bar_adjoin_and_share_one_scale() -> None:
    svg = bars("t", [Bar("a", (("x", 30), ("y", 10))), Bar("b", (("x", 20), ("y", 0)))])
    x, y, other = elements(svg, "rect")[:3]
    assert float(x.attrib["width"]) == pytest.approx(3 * float(y.attrib["width"]), abs=0.2)
    assert float(y.attrib["x"]) == pytest.approx(
        float(x.attrib["x"]) + float(x.attrib["width"]), abs=0.2
    )
    assert float(other.attrib["width"]) == pytest.approx(2 * float(y.attrib["width"]), abs=0.2)


def test_a_bar_of_zeros_is_omitted() -> None:
    svg = bars("t", [Bar("zero", (("x", 0),)), Bar("one", (("x", 1),))])
    assert texts(svg) == ["one", "x"]


def test_hostile_labels_are_escaped() -> None:
    hostile = "<script>\"'&"
    for svg in (
        scatter(hostile, hostile, hostile, [Point(hostile, 1, 0.5, 0.5, 0.5)]),
        bars(hostile, [Bar(hostile, ((hostile, 1),))]),
    ):
        assert ElementTree.fromstring(svg).attrib["aria-label"] == hostile
        assert hostile in texts(svg)
        assert "<script" not in svg
