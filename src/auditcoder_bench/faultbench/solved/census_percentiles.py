"""Answer questions about the ages in a census.

A line such as "north 34" records a person's region and age. A line that begins with a question
mark is a question: "? percentile north 90" asks for the smallest recorded age of the region that
at least 90 percent of its people do not exceed (0 gives the lowest age); "? below north 18" asks
which share of its people is younger than 18, to be written with one decimal and a percent sign;
"? spread north" asks for the difference of the percentiles 75 and 25. The region "all" stands for
everybody. Records may come after questions and count all the same. Print one line for each
question, in their order. For a region without records the answer is "no data".
"""

from bisect import bisect_left


def split_input(data: str) -> tuple[list[tuple[str, int]], list[list[str]]]:
    """Separate the records from the questions.

    kind: string
    example: split_input("north 34") == ([("north", 34)], [])
    """
    records = []
    questions = []
    for line in data.split("\n"):
        words = line.split()
        if not words:
            continue
        if words[0] == "?":
            questions.append(words[1:])
        else:
            records.append((words[0], int(words[1])))
    return records, questions


def ages_by_region(records: list[tuple[str, int]]) -> dict[str, list[int]]:
    """Collect the sorted ages of each region, and of everybody under "all".

    kind: sorting
    ensures: all(ages == sorted(ages) for ages in result.values())
    ensures: len(result["all"]) == len(records)
    cost: O(n log n)
    """
    ages: dict[str, list[int]] = {"all": []}
    for region, age in records:
        ages["all"].append(age)
        ages.setdefault(region, []).append(age)
    for values in ages.values():
        values.sort()
    return ages


def percentile(ages: list[int], percent: int) -> int:
    """Return the smallest age that at least so many percent do not exceed.

    kind: math
    requires: len(ages) > 0 and 0 <= percent <= 100
    ensures: result in ages
    example: percentile([10, 20, 30, 40], 50) == 20
    """
    rank = (len(ages) * percent + 99) // 100
    return ages[max(rank, 1) - 1]


def share_below(ages: list[int], age: int) -> float:
    """Return the share of people younger than this, in percent.

    kind: binary_search
    ensures: 0 <= result <= 100
    cost: O(log n)
    example: share_below([10, 20], 15) == 50.0
    """
    return bisect_left(ages, age) * 100 / len(ages)


def answer(ages: dict[str, list[int]], question: list[str]) -> str:
    """Answer one question.

    kind: general
    requires: len(question) >= 2
    uses: percentile, share_below
    example: answer({"all": []}, ["spread", "all"]) == "no data"
    """
    asked, region = question[:2]
    values = ages.get(region)
    if not values:
        return "no data"
    if asked == "percentile":
        return str(percentile(values, int(question[2])))
    if asked == "below":
        return f"{share_below(values, int(question[2])):.1f}%"
    return str(percentile(values, 75) - percentile(values, 25))


def solve(data: str) -> str:
    """Read the census and answer its questions.

    kind: orchestration
    """
    records, questions = split_input(data)
    ages = ages_by_region(records)
    return "\n".join(answer(ages, question) for question in questions)


EXAMPLES = (
    ("north 34\nsouth 20", ""),
    ("? percentile all 50\n? below north 18", "no data\nno data"),
    ("north 34\n? percentile north 0\n? percentile north 100\n? spread north", "34\n34\n0"),
    (
        (
            "north 60\nnorth 5\nsouth 18\nnorth 18\nnorth 41\n? below north 18\n"
            "? below north 42\n? below all 19\n? percentile north 50\n? percentile north 51"
        ),
        "25.0%\n75.0%\n60.0%\n18\n41",
    ),
    (
        (
            "? percentile west 90\n\nwest 12\nwest 70\nwest 33\n? spread west\n? spread all\n"
            "east 90\n? percentile all 75\n? percentile all 76\n? spread moon"
        ),
        "70\n58\n58\n70\n90\nno data",
    ),
    (
        (
            "a 1\na 2\na 3\na 4\na 5\na 6\na 7\n? percentile a 10\n? percentile a 15\n"
            "? below a 3\n? spread a\n? below a 1\n? below a 9"
        ),
        "1\n2\n28.6%\n4\n0.0%\n100.0%",
    ),
)

LARGE = (
    "'\\n'.join([f'r{i % 9} {i * 37 % 101}' for i in range(2000)] + [f'? {q}' for i in "
    "range(150) for q in (f'percentile all {i % 101}', f'below r{i % 9} {i}', f'spread r{i % "
    "10}')])"
)
