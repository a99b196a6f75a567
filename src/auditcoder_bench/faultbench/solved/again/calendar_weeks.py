"""The functions of calendar_weeks, written again by their contracts alone."""

from datetime import date


def is_leap(year: int) -> bool:
    """Tell whether a year has a 29th of February."""
    return year % (400 if year % 100 == 0 else 4) == 0


def days_in_month(year: int, month: int) -> int:
    """Return how many days a month has."""
    if month == 2:
        return 28 + is_leap(year)
    return 30 if month in {4, 6, 9, 11} else 31


def days_before_month(year: int, month: int) -> int:
    """Count the days of the year before the first of a month."""
    return sum(days_in_month(year, earlier) for earlier in range(1, month))


def weekday_of_first(year: int, month: int) -> int:
    """Return the weekday of the first of a month; 0 is Monday."""
    # The calendar repeats itself, weekdays included, every 400 years.
    return date(400 + year % 400, month, 1).weekday()


def blank_days(weekday: int, week_start: int) -> int:
    """Count the days of the week that come before this weekday."""
    return weekday - week_start if weekday >= week_start else weekday + 7 - week_start


def lay_out(first_week: int, blanks: int, days: int) -> dict[int, list[int]]:
    """Write the days of a month into numbered weeks, after so many blank days."""
    weeks: dict[int, list[int]] = {}
    for day in range(1, days + 1):
        number, place = divmod(blanks + day - 1, 7)
        weeks.setdefault(first_week + number, [0] * 7)[place] = day
    return weeks


def month_weeks(year: int, month: int, week_start: int) -> dict[int, list[int]]:
    """Return the numbered weeks of a month."""
    blanks_of_year = blank_days(weekday_of_first(year, 1), week_start)
    passed, blanks = divmod(blanks_of_year + days_before_month(year, month), 7)
    return lay_out(passed + 1, blanks, days_in_month(year, month))
