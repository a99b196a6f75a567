"""Lay out a month of the Gregorian calendar in weeks.

Given a year (1 or later), a month (1 to 12) and the day on which weeks begin (0 is Monday, 6 is
Sunday), return a dictionary from the number of each week to its seven days. Days before the first
and after the last of the month are 0. Week 1 is the week with the first of January, even if most
of it lies in the year before; the weeks of the year are numbered from there without a break, so
the last days of December may be in week 53 or 54. Leap years are those divisible by 4, but not
those divisible by 100, unless they are divisible by 400.
"""


def is_leap(year: int) -> bool:
    """Tell whether a year has a 29th of February.

    kind: math
    example: is_leap(2024) == True
    """
    if year % 400 == 0:
        return True
    return year % 4 == 0 and year % 100 != 0


def days_in_month(year: int, month: int) -> int:
    """Return how many days a month has.

    kind: general
    requires: 1 <= month <= 12
    uses: is_leap
    ensures: 28 <= result <= 31
    example: days_in_month(2023, 4) == 30
    """
    if month == 2:
        return 29 if is_leap(year) else 28
    if month in (4, 6, 9, 11):
        return 30
    return 31


def days_before_month(year: int, month: int) -> int:
    """Count the days of the year before the first of a month.

    kind: math
    uses: days_in_month
    example: days_before_month(2023, 1) == 0
    """
    return sum(days_in_month(year, earlier) for earlier in range(1, month))


def weekday_of_first(year: int, month: int) -> int:
    """Return the weekday of the first of a month; 0 is Monday.

    kind: math
    requires: year >= 1 and 1 <= month <= 12
    uses: days_before_month
    ensures: 0 <= result <= 6
    """
    past = year - 1
    leap_days = past // 4 - past // 100 + past // 400
    return (past * 365 + leap_days + days_before_month(year, month)) % 7


def blank_days(weekday: int, week_start: int) -> int:
    """Count the days of the week that come before this weekday.

    kind: math
    requires: 0 <= weekday <= 6 and 0 <= week_start <= 6
    """
    return (weekday - week_start) % 7


def lay_out(first_week: int, blanks: int, days: int) -> dict[int, list[int]]:
    """Write the days of a month into numbered weeks, after so many blank days.

    kind: general
    requires: 0 <= blanks <= 6
    ensures: all(len(week) == 7 for week in result.values())
    ensures: sum(map(sum, result.values())) == days * (days + 1) // 2
    example: lay_out(1, 5, 3) == {1: [0, 0, 0, 0, 0, 1, 2], 2: [3, 0, 0, 0, 0, 0, 0]}
    """
    weeks: dict[int, list[int]] = {}
    number = first_week
    week = [0] * blanks
    for day in range(1, days + 1):
        week.append(day)
        if len(week) == 7:
            weeks[number] = week
            number += 1
            week = []
    if week:
        weeks[number] = week + [0] * (7 - len(week))
    return weeks


def month_weeks(year: int, month: int, week_start: int) -> dict[int, list[int]]:
    """Return the numbered weeks of a month.

    kind: orchestration
    """
    january_blanks = blank_days(weekday_of_first(year, 1), week_start)
    first_week = (january_blanks + days_before_month(year, month)) // 7 + 1
    blanks = blank_days(weekday_of_first(year, month), week_start)
    return lay_out(first_week, blanks, days_in_month(year, month))


EXAMPLES = (
    (
        "1, 1, 0",
        (
            "{1: [1, 2, 3, 4, 5, 6, 7], 2: [8, 9, 10, 11, 12, 13, 14],"
            " 3: [15, 16, 17, 18, 19, 20, 21], 4: [22, 23, 24, 25, 26, 27, 28],"
            " 5: [29, 30, 31, 0, 0, 0, 0]}"
        ),
    ),
    (
        "2021, 2, 0",
        (
            "{6: [1, 2, 3, 4, 5, 6, 7], 7: [8, 9, 10, 11, 12, 13, 14],"
            " 8: [15, 16, 17, 18, 19, 20, 21], 9: [22, 23, 24, 25, 26, 27, 28]}"
        ),
    ),
    (
        "2024, 2, 6",
        (
            "{5: [0, 0, 0, 0, 1, 2, 3], 6: [4, 5, 6, 7, 8, 9, 10],"
            " 7: [11, 12, 13, 14, 15, 16, 17], 8: [18, 19, 20, 21, 22, 23, 24],"
            " 9: [25, 26, 27, 28, 29, 0, 0]}"
        ),
    ),
    (
        "2000, 3, 0",
        (
            "{10: [0, 0, 1, 2, 3, 4, 5], 11: [6, 7, 8, 9, 10, 11, 12],"
            " 12: [13, 14, 15, 16, 17, 18, 19], 13: [20, 21, 22, 23, 24, 25, 26],"
            " 14: [27, 28, 29, 30, 31, 0, 0]}"
        ),
    ),
    (
        "1900, 12, 6",
        (
            "{48: [0, 0, 0, 0, 0, 0, 1], 49: [2, 3, 4, 5, 6, 7, 8],"
            " 50: [9, 10, 11, 12, 13, 14, 15], 51: [16, 17, 18, 19, 20, 21, 22],"
            " 52: [23, 24, 25, 26, 27, 28, 29], 53: [30, 31, 0, 0, 0, 0, 0]}"
        ),
    ),
    (
        "2025, 6, 3",
        (
            "{23: [0, 0, 0, 1, 2, 3, 4], 24: [5, 6, 7, 8, 9, 10, 11],"
            " 25: [12, 13, 14, 15, 16, 17, 18], 26: [19, 20, 21, 22, 23, 24, 25],"
            " 27: [26, 27, 28, 29, 30, 0, 0]}"
        ),
    ),
)

LARGE = "9996, 12, 6"
