"""The report page in a real browser loads nothing, hides nothing and runs no injected script."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import pytest
from msgspec.structs import replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import Manifest
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.table import Row, Table
from auditcoder.domain.task import StdioExample
from auditcoder.domain.values import RunId
from auditcoder.interfaces.reports import audit_report
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.runs import RunResources
from auditcoder.viewer.charts import Bar, Point, bars, scatter
from auditcoder.viewer.report_page import page as render_page
from auditcoder_bench.problem import Problem, StdioTests
from auditcoder_bench.reports.comparison_report import bench_report
from auditcoder_bench.runner import Job, perform
from tests.support.record_builders import TASK, ticking
from tests.support.scripted_answers import PROGRAM, Improviser, Script, fenced
from tests.support.scripted_runs import sandboxed
from tests.support.sketched_runs import sketching

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PROGRAM_FILE = next(filter(None, map(shutil.which, BROWSERS)), None)

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is missing: install requirements.lock"
)
pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(PROGRAM_FILE is None, reason=f"install a browser: {' or '.join(BROWSERS)}"),
]

BROWSER_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

RIGHT = fenced("print(sum(int(word) ** 2 for word in input().split()))")
WRONG = fenced("print(0)")
DOUBLES = fenced(
    "def read_numbers(data: str) -> list[int]:\n    return [int(word) for word in data.split()]\n\n"
    "def square(number: int) -> int:\n    return number + number\n\n"
    "def sum_squares(numbers: list[int]) -> int:\n    return sum(map(square, numbers))\n"
)
UNSEEN = StdioTests(cases=(StdioExample(input="3\n", output="9\n"),))
TOYS: dict[tuple[str, str], Script] = {
    ("direct", "1"): {"staged": [RIGHT]},
    ("direct", "2"): {"staged": [WRONG]},
    ("cot", "1"): {"staged": [RIGHT, RIGHT]},
    ("auditcoder", "1"): {},
    ("auditcoder", "2"): {"joint": [DOUBLES]},
}
"""Three methods on two problems: right at once, wrong, and wrong until it is repaired."""

HOSTILE = (
    "\"'><img src=x onerror=\"document.title='owned'\"></style></script>"
    "<script>document.title='owned'</script>"
)
LONG = "an-id-that-nothing-breaks-" * 4


Report = tuple[str, list[dict[str, Any]]]
"""A report as a page, and its tables."""


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    """Both reports, on real runs."""
    store = SqliteStore(":memory:")
    for sandbox in sandboxed():
        for (method, number), script in TOYS.items():
            problem = Problem(number, replace(PROGRAM, source=f"toys/{number}"), UNSEEN)
            tools = RunResources(store, Improviser(script), sandbox)
            perform(tools, store, Job("toys", method, number, "improviser"), problem, sketching())
    rendered = {
        "bench": [bench_report(store, form) for form in ("html", "json")],
        "audit": [audit_report(store, store.runs(), form) for form in ("html", "json")],
    }
    store.close()
    return {name: (html, json.loads(tables)["tables"]) for name, (html, tables) in rendered.items()}


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with playwright.sync_playwright() as engine:
        opened = engine.chromium.launch(executable_path=PROGRAM_FILE, args=BROWSER_FLAGS)
        yield opened
        opened.close()


class OpenedPage(NamedTuple):
    """An opened page."""

    page: "Page"
    console: list[str]
    """Its console messages and uncaught errors."""
    requests: list[str]
    """The addresses of its requests."""


Scheme = Literal["light", "dark"]


class Open(Protocol):
    """Opens a page from a file."""

    def __call__(self, html: str, width: int = 1100, scheme: Scheme = "light") -> OpenedPage: ...


@pytest.fixture(name="open_page")
def _open_page(browser: "Browser", tmp_path: Path) -> Iterator[Open]:
    opened: list[Page] = []

    def open_page(html: str, width: int = 1100, scheme: Scheme = "light") -> OpenedPage:
        file = tmp_path / "report.html"
        file.write_text(html, encoding="utf-8")
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.set_default_timeout(60_000)
        opened.append(page)
        console: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: console.append(message.text))
        page.on("pageerror", lambda error: console.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        assert requests.pop(0) == file.as_uri()
        return OpenedPage(page, console, requests)

    yield open_page
    for page in opened:
        page.close()


@pytest.fixture(params=["bench", pytest.param("audit", marks=pytest.mark.campaign)])
def report(request: pytest.FixtureRequest, reports: dict[str, Report]) -> Report:
    return reports[request.param]


def test_a_page_opens_from_a_file_and_sends_no_requests(report: Report, open_page: Open) -> None:
    shown = open_page(report[0])
    shown.page.wait_for_load_state("networkidle")
    assert shown.requests == []
    assert shown.console == []


TEXT_HEIGHTS = """all => all.map(th => {
    const words = document.createRange();
    words.selectNodeContents(th);
    return words.getBoundingClientRect().height;
})"""
"""The height of the text of cells, independent of the other cells in their row."""
HIDDEN = """found => found.filter(element => {
  const box = element.getBoundingClientRect();
  return !element.checkVisibility() || !box.width || !box.height ||
    box.left < 0 || box.right > document.documentElement.clientWidth;
}).map(element => element.textContent)"""
"""The text of those elements that are invisible or outside of the page."""


def test_every_table_shows_its_header_and_all_its_rows(report: Report, open_page: Open) -> None:
    html, tables = report
    page = open_page(html).page
    boxes = page.locator("table").all()
    assert len(boxes) == len(tables)
    for box, table in zip(boxes, tables, strict=True):
        heads = box.locator("thead th").all_inner_texts()
        assert heads[: len(table["columns"])] == table["columns"]
        about = box.locator("tbody th:first-child").all_inner_texts()
        assert about == [row["cells"][0] for row in table["rows"]]
        assert box.locator("th, td").evaluate_all(HIDDEN) == []


def test_every_chart_has_a_size_and_a_name(report: Report, open_page: Open) -> None:
    page = open_page(report[0]).page
    charts = page.locator("svg").all()
    assert len(charts) == page.get_by_role("img").count() >= 2
    for chart in charts:
        size = chart.bounding_box()
        assert size is not None
        assert min(size["width"], size["height"]) > 50
        assert chart.get_attribute("aria-label")
    overlapping = page.evaluate(OVERLAPPING)
    assert overlapping == []


OVERLAPPING = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
  const words = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBBox()]);
  const outer = svg.viewBox.baseVal;
  const leaves = ([_, a]) => a.x < 0 || a.y < 0 ||
    a.x + a.width > outer.width || a.y + a.height > outer.height;
  const meets = (a, b) => a.x + 1 < b.x + b.width && b.x + 1 < a.x + a.width &&
    a.y + 3 < b.y + b.height && b.y + 3 < a.y + a.height;
  return words.filter((one, n) =>
    leaves(one) || words.slice(n + 1).some(other => meets(one[1], other[1]))
  ).map(([text]) => text);
})"""
"""The chart labels that overlap another one or leave the drawing."""


def test_labels_of_many_failing_methods_do_not_overlap(open_page: Open) -> None:
    points = [Point(f"method-{n}", 100.0 + n, 0.0, 0.0, 0.1) for n in range(12)]
    drawing = scatter("All fail", "tokens", "resolved", points)
    assert (
        open_page(render_page("r", "", [], [("All fail", drawing)])).page.evaluate(OVERLAPPING)
        == []
    )


BEHIND = """lines => lines.map(line => [...line.querySelectorAll('button')].map(button =>
  [...button.popoverTargetElement.querySelectorAll('li')].map(run => run.textContent)))"""
"""For every row, for every button in it, the runs that it opens."""


class TestRunsBehindANumber:
    def test_every_number_opens_the_runs_of_its_row(self, report: Report, open_page: Open) -> None:
        html, tables = report
        page = open_page(html).page
        behind = page.locator("tbody tr").evaluate_all(BEHIND)
        lines = [(table, row) for table in tables for row in table["rows"]]
        for opened, (table, row) in zip(behind, lines, strict=True):
            numbers = [n for n in row["cells"][table.get("labels", 1) :] if n is not None]
            runs = row.get("runs", [])
            assert opened == ([runs] * (len(numbers) + 1) if runs else [])
        assert sum(map(bool, behind)) > 10

    def test_a_click_opens_the_list_of_runs_and_escape_closes_it(
        self, report: Report, open_page: Open
    ) -> None:
        html, tables = report
        page = open_page(html).page
        for box, table in zip(page.locator("table").all(), tables, strict=True):
            row = next((row for row in table["rows"] if row.get("runs")), None)
            if row is None:
                continue
            line = box.locator("tbody tr").nth(table["rows"].index(row))
            assert page.get_by_role("dialog").count() == 0
            line.locator("td button").first.click()
            dialog = page.get_by_role("dialog")
            assert dialog.locator("li").all_inner_texts() == row["runs"]
            assert dialog.locator("li").evaluate_all(HIDDEN) == []
            assert row["cells"][0] in dialog.inner_text()
            page.keyboard.press("Escape")
            assert page.get_by_role("dialog").count() == 0

    def test_the_tab_key_reaches_every_row_once(self, report: Report, open_page: Open) -> None:
        html, tables = report
        page = open_page(html).page
        lines = [row for table in tables for row in table["rows"] if row.get("runs")]
        boxes = page.locator(".wide").count()
        stops = []
        for _ in range(len(lines) + boxes):
            page.keyboard.press("Tab")
            stops.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        reached = [stop for stop in stops if " behind " in stop]
        assert len(reached) == len(lines)
        for row, stop in zip(lines, reached, strict=True):
            assert stop.startswith(f"{len(row['runs'])} run")
            assert row["cells"][0] in stop

    def test_the_list_of_runs_opens_and_closes_by_keyboard(
        self, report: Report, open_page: Open
    ) -> None:
        page = open_page(report[0]).page
        count = page.get_by_role("button", name=" behind ").first
        count.focus()
        page.keyboard.press("Enter")
        close = page.get_by_role("dialog").get_by_role("button", name="Close")
        page.keyboard.press("Tab")
        assert _has_focus(close)
        page.keyboard.press("Enter")
        assert page.get_by_role("dialog").count() == 0
        assert _has_focus(count)

    def test_a_list_of_thousands_of_runs_fits_the_window(self, open_page: Open) -> None:
        runs = tuple(RunId(f"suite.{n}.method.{LONG}") for n in range(2_000))
        table = Table(
            name="t", title="T", columns=("a", "b"), rows=(Row(cells=("x", 1), runs=runs),)
        )
        page = open_page(render_page("r", "", [table], []), width=360).page
        page.get_by_role("button", name="2,000 runs").click()
        size = page.get_by_role("dialog").bounding_box()
        assert size is not None
        assert size["x"] >= 0
        assert size["y"] >= 0
        assert size["x"] + size["width"] <= 360
        assert size["y"] + size["height"] <= 800
        assert page.evaluate(
            "(d => d.scrollWidth <= d.clientWidth)(document.querySelector(':popover-open'))"
        )


def _has_focus(found: "Locator") -> bool:
    return bool(found.evaluate("element => element === document.activeElement"))


class TestHostileNames:
    def test_hostile_names_in_tables_and_charts_are_escaped(self, open_page: Open) -> None:
        table = Table(
            name=HOSTILE,
            title=HOSTILE,
            columns=(HOSTILE, HOSTILE),
            rows=(Row(cells=(HOSTILE, HOSTILE), runs=(RunId(HOSTILE),)),),
            notes=(HOSTILE,),
        )
        drawn = [
            (HOSTILE, scatter(HOSTILE, HOSTILE, HOSTILE, [Point(HOSTILE, 10.0, 0.5, 0.4, 0.6)])),
            (HOSTILE, bars(HOSTILE, [Bar(HOSTILE, ((HOSTILE, 1.0),))])),
        ]
        shown = open_page(render_page(HOSTILE, HOSTILE, [table], drawn))
        _check_nothing_was_injected(shown)
        assert shown.page.title() == HOSTILE
        shown.page.locator("td button").first.click()
        assert shown.page.get_by_role("dialog").locator("li").inner_text() == HOSTILE

    def test_hostile_names_from_a_record_are_escaped(self, open_page: Open) -> None:
        store = SqliteStore(":memory:")
        run = RunId("a-run")
        task = replace(TASK, title=HOSTILE, source=HOSTILE)
        Recorder.start(store, run, task, ticking(), Manifest(method=HOSTILE, model=HOSTILE))
        head = store.head(run).digest
        store.keep_judgement(Judgement(run=run, head=head, suite=HOSTILE, results={}))
        shown = open_page(bench_report(store, "html"))
        store.close()
        _check_nothing_was_injected(shown)
        assert shown.page.locator("tbody th").first.inner_text() == HOSTILE


def _check_nothing_was_injected(shown: OpenedPage) -> None:
    shown.page.wait_for_load_state("networkidle")
    assert shown.requests == []
    assert shown.console == []
    assert shown.page.locator("img, script, iframe, object, link, a").count() == 0
    assert shown.page.title() != "owned"


class TestNarrowScreen:
    def test_tables_scroll_but_the_page_does_not(self, report: Report, open_page: Open) -> None:
        page = open_page(report[0], width=360).page
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.locator("h1, h2, .wide, main > .note").evaluate_all(HIDDEN) == []
        assert page.evaluate(
            "[...document.querySelectorAll('.wide')].some(b => b.scrollWidth > b.clientWidth)"
        )

    def test_a_table_scrolls_by_keyboard_and_its_row_labels_stay_visible(
        self, reports: dict[str, Report], open_page: Open
    ) -> None:
        page = open_page(reports["bench"][0], width=360).page
        box = page.locator(".wide", has=page.locator("table")).first
        box.focus()
        for _ in range(40):
            page.keyboard.press("ArrowRight")
        page.wait_for_function("box => box.scrollLeft > 100", arg=box.element_handle())
        label = box.locator("tbody th").first.bounding_box()
        assert label is not None
        assert label["x"] >= 0

    def test_words_that_fit_are_not_broken(self, report: Report, open_page: Open) -> None:
        page = open_page(report[0], width=360).page
        heights = page.locator("tbody th").evaluate_all(TEXT_HEIGHTS)
        assert max(heights) < 120, "a label of four words takes four lines at most"

    def test_long_names_without_break_points_do_not_widen_the_page(self, open_page: Open) -> None:
        table = Table(name="t", title=LONG, columns=("a", "b"), rows=(Row(cells=(LONG, 1)),))
        page = open_page(render_page(LONG, LONG, [table], []), width=360).page
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        label = page.locator("tbody th").bounding_box()
        assert label is not None
        assert label["width"] < 180, "there is space for the numbers"


CONTRASTS = """() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [.2126, .7152, .0722][n], 0);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    throw new Error('nothing gives the page a background');
  };
  const contrast = (element, property) => {
    let opacity = 1;
    for (let e = element; e; e = e.parentElement) opacity *= getComputedStyle(e).opacity;
    const back = behind(element);
    const front = parse(getComputedStyle(element)[property])
      .map((v, n) => v * opacity + back[n] * (1 - opacity));
    const [low, high] = [light(front), light(back)].sort((a, b) => a - b);
    return (high + .05) / (low + .05);
  };
  document.querySelectorAll('[popover]').forEach(p => p.showPopover());
  const worded = [...document.querySelectorAll('main *')].filter(e => !e.closest('svg') &&
    [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.textContent.trim()));
  return {
    words: Math.min(...worded.map(e => contrast(e, 'color')),
      ...[...document.querySelectorAll('svg text')].map(e => contrast(e, 'fill'))),
    marks: Math.min(...[...document.querySelectorAll('svg rect, svg circle')]
      .map(e => contrast(e, 'fill'))),
    paper: light(behind(document.body)),
  };
}"""
"""The lowest contrast of text and of drawn marks to their background, as WCAG defines it."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_charts_have_sufficient_contrast(
    report: Report, open_page: Open, scheme: Scheme
) -> None:
    least = open_page(report[0], scheme=scheme).page.evaluate(CONTRASTS)
    assert least["words"] >= 4.5
    assert least["marks"] >= 3
    assert (least["paper"] < 0.1) == (scheme == "dark")


A4 = 718
"""The width of a sheet between its margins."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_printed_page_shows_everything_dark_on_white(
    report: Report, open_page: Open, scheme: Scheme
) -> None:
    html, tables = report
    page = open_page(html, width=A4, scheme=scheme).page
    page.emulate_media(media="print")
    assert page.locator("h1, h2, h3, svg, th, td, td button, .note, li").evaluate_all(HIDDEN) == []
    runs = {run for table in tables for row in table["rows"] for run in row.get("runs", [])}
    assert set(page.locator("li").all_inner_texts()) == runs
    assert not page.get_by_role("button", name="Close").first.is_visible()
    colours = page.evaluate(
        "(s => [s.color, s.backgroundColor])(getComputedStyle(document.documentElement))"
    )
    assert colours == ["rgb(28, 31, 34)", "rgb(255, 255, 255)"]
