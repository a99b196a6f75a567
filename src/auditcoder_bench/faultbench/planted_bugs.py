"""Twenty bugs as strong models make them, one in each of twenty solved programs.

Each is one edit of one function. It passes most examples of its program, and usually the examples
in its own contract; one more input, the case, shows it.
"""

from typing import NamedTuple


class PlantedBug(NamedTuple):
    """One bug: an edit of the text of a solved program, and an input that shows it."""

    program: str
    function: str
    kind: str
    right: str
    """The text of the right program that the bug replaces; it occurs once in the function."""
    wrong: str
    case: str
    """The arguments, or the standard input, for which program and bug differ."""


BUGS = (
    PlantedBug(
        "anagram_groups_report",
        "choose_groups",
        "wrong order of ties",
        "(-len(group), -len(group[0]), group[0])",
        "(-len(group), len(group[0]), group[0])",
        "'low owl below elbow', 2",
    ),
    PlantedBug(
        "calendar_weeks",
        "blank_days",
        "modulo of a negative number",
        "(weekday - week_start) % 7",
        "abs(weekday - week_start) % 7",
        "2024, 2, 6",
    ),
    PlantedBug(
        "census_percentiles",
        "percentile",
        "rounding to the nearest instead of up",
        "(len(ages) * percent + 99) // 100",
        "round(len(ages) * percent / 100)",
        "a 1\na 2\na 3\n? percentile a 40",
    ),
    PlantedBug(
        "chess_moves",
        "slide_moves",
        "no stop after a capture",
        "            found.append((row, column))\n            if other:\n                break\n",
        "            found.append((row, column))\n",
        "['Rrk', '...', '...']",
    ),
    PlantedBug(
        "election_seats",
        "coalition",
        "half counts as more than half",
        "2 * joined > total",
        "2 * joined >= total",
        "{'A': 2, 'B': 2}, 4, 0",
    ),
    PlantedBug(
        "interval_merge_report",
        "sweep_events",
        "starts before ends at equal times",
        "events.sort()",
        "events.sort(key=lambda event: (event[0], -event[1]))",
        "[(0, 4), (4, 8)], 0, 8",
    ),
    PlantedBug(
        "invoice_totals",
        "add_tax",
        "halves of negative amounts rounded up",
        "    if amount < 0:\n        return -add_tax(-amount, percent)\n",
        "",
        "'a;x;-1;0.50', 100, 10, 5",
    ),
    PlantedBug(
        "library_fines",
        "loan_fine",
        "a special limit forgotten",
        'most = 1000 if kind == "film" else 500',
        "most = 500",
        "['Ed;film;0;90'], 99",
    ),
    PlantedBug(
        "log_sessions",
        "cut_sessions",
        "a pause of exactly the limit cuts",
        "moment - sessions[-1][1] <= pause",
        "moment - sessions[-1][1] < pause",
        "10\n00:00:00 a\n00:00:10 a",
    ),
    PlantedBug(
        "meeting_rooms",
        "most_used",
        "the last of several instead of the first",
        "min(used, key=lambda room: (-used[room], room))",
        "max(used, key=lambda room: (used[room], room))",
        "09:00-10:00 A\n09:00-10:00 B",
    ),
    PlantedBug(
        "parcel_packing",
        "heaviest_first",
        "ties keep the order of the input",
        "(-parcel[1], parcel[0])",
        "-parcel[1]",
        "[('b', 4), ('a', 4)], 4, 1, 3",
    ),
    PlantedBug(
        "queue_simulation",
        "longest_queue",
        "who comes is counted before who goes",
        "in sorted(changes)",
        "in sorted(changes, key=lambda change: (change[0], -change[1]))",
        "1 9\nA 0 3\nB 1 4\nC 3 2",
    ),
    PlantedBug(
        "recipe_scaler",
        "larger_unit",
        "one step instead of all",
        "return larger_unit(Fraction(amount) / needed, larger)",
        "return Fraction(amount) / needed, larger",
        "['48 tsp sugar'], 1, 1",
    ),
    PlantedBug(
        "run_length_codec",
        "encode_run",
        "off by one at the shortest run",
        "length < shortest",
        "length <= shortest",
        "['+aaa']",
    ),
    PlantedBug(
        "seat_assignment",
        "best_row",
        "the last of several instead of the first",
        "seats < free[best]",
        "seats <= free[best]",
        "2 3\na 2",
    ),
    PlantedBug(
        "sensor_smoothing",
        "remove_spikes",
        "reads what it has changed",
        "values[place - 1 : place + 2]",
        "calm[place - 1 : place + 2]",
        "[1, 20, 2, 20, 1], 0, 5, 100",
    ),
    PlantedBug(
        "shift_roster",
        "pick_least_busy",
        "ties keep the order of the input",
        "(counts[name], name)",
        "counts[name]",
        "['bob', 'amy'], [], 1, 1",
    ),
    PlantedBug(
        "stock_trades",
        "close_lots",
        "uses a variable after it was changed",
        "(held - sold, paid)",
        "(held - shares, paid)",
        "['buy A 5 10', 'sell A 2 20']",
    ),
    PlantedBug(
        "timetable_clashes",
        "shared_minutes",
        "a lesson within another is missed",
        "last = min(end, other_end)",
        "last = end",
        "'Fri 08:00-12:00 Lab Hall\\nFri 09:00-10:00 Talk Hall', {}",
    ),
    PlantedBug(
        "tournament_table",
        "shared_places",
        "places after shared ones are not left out",
        "places.append(number)",
        "places.append(places[-1] + 1 if places else 1)",
        "A 1-0 C\nB 1-0 D",
    ),
)
