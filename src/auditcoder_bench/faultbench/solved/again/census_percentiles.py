"""The functions of census_percentiles, written again by their contracts alone."""

from bisect import bisect_left


def split_input(data: str) -> tuple[list[tuple[str, int]], list[list[str]]]:
    """Separate the records from the questions."""
    lines = [line.strip() for line in data.splitlines() if line.strip()]
    questions = [line[1:].split() for line in lines if line[0] == "?"]
    facts = [line.split() for line in lines if line[0] != "?"]
    return [(words[0], int(words[1])) for words in facts], questions


def ages_by_region(records: list[tuple[str, int]]) -> dict[str, list[int]]:
    """Collect the sorted ages of each region, and of everybody under "all"."""
    result: dict[str, list[int]] = {"all": []}
    for region, age in sorted(records, key=lambda record: record[1]):
        for key in {region, "all"}:
            result.setdefault(key, []).append(age)
    return result


def percentile(ages: list[int], percent: int) -> int:
    """Return the smallest age that at least so many percent do not exceed."""
    ordered = sorted(ages)
    return next(age for rank, age in enumerate(ordered, 1) if rank * 100 >= percent * len(ordered))


def share_below(ages: list[int], age: int) -> float:
    """Return the share of people younger than this, in percent."""
    if not ages:
        return 0.0
    return 100 * bisect_left(ages, age) / len(ages)


def answer(ages: dict[str, list[int]], question: list[str]) -> str:
    """Answer one question."""
    known = ages.get(question[1])
    if not known:
        return "no data"
    match question:
        case ["percentile", _, percent]:
            return str(percentile(known, int(percent)))
        case ["below", _, age]:
            return f"{share_below(known, int(age)):.1f}%"
        case _:
            return str(percentile(known, 75) - percentile(known, 25))


def solve(data: str) -> str:
    """Read the census and answer its questions."""
    records, questions = split_input(data)
    ages = ages_by_region(records)
    return "\n".join(answer(ages, question) for question in questions)
