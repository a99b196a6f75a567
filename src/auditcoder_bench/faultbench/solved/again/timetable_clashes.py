"""The functions of timetable_clashes, written again by their contracts alone."""

from itertools import combinations


def read_time(text: str) -> int:
    """Turn HH:MM into minutes."""
    hours, minutes = text.split(":")
    return int(minutes) + int(hours) * 60


def read_lessons(text: str) -> list[tuple[str, int, int, str, str]]:
    """Read the lessons that have a length from the lines."""
    lessons: list[tuple[str, int, int, str, str]] = []
    for fields in filter(None, map(str.split, text.splitlines())):
        day, span, course, room = fields
        start, end = map(read_time, span.split("-"))
        if start < end:
            lessons.append((day, start, end, course, room))
    return lessons


def shared_minutes(start: int, end: int, other_start: int, other_end: int) -> int:
    """Measure what two spans have in common."""
    return len(range(max(start, other_start), min(end, other_end)))


def clashing_pairs(
    lessons: list[tuple[str, int, int, str, str]],
) -> list[tuple[int, str, str, str]]:
    """Compare every two lessons of a day in their order of time."""
    pairs: list[tuple[int, str, str, str]] = []
    for one, two in combinations(sorted(lessons), 2):
        minutes = shared_minutes(*one[1:3], *two[1:3]) if one[0] == two[0] else 0
        if minutes:
            pairs.append((minutes, one[0], one[3], two[3]))
    return pairs


def room_clashes(lessons: list[tuple[str, int, int, str, str]]) -> list[tuple[int, str]]:
    """Describe the clashes within each room."""
    rooms: dict[str, list[tuple[str, int, int, str, str]]] = {}
    for lesson in lessons:
        rooms.setdefault(lesson[4], []).append(lesson)
    found: list[tuple[int, str]] = []
    for room, inside in rooms.items():
        for minutes, day, first, second in clashing_pairs(inside):
            found.append((minutes, f"{room} {day}: {first} and {second}"))
    return found


def student_clashes(
    lessons: list[tuple[str, int, int, str, str]], choices: dict[str, list[str]]
) -> list[tuple[int, str]]:
    """Describe the clashes within the lessons of each student."""
    found: list[tuple[int, str]] = []
    for student, courses in choices.items():
        taken = frozenset(courses)
        attended = [lesson for lesson in lessons if lesson[3] in taken]
        for minutes, day, first, second in clashing_pairs(attended):
            found.append((minutes, f"{student} {day}: {first} and {second}"))
    return found


def worst_first(clashes: list[tuple[int, str]]) -> list[str]:
    """Order the clashes by text and then, stably, by falling length."""
    by_text = sorted(clashes, key=lambda clash: clash[1])
    by_text.sort(key=lambda clash: clash[0], reverse=True)
    return [f"{text} ({minutes} min)" for minutes, text in by_text]


def timetable_clashes(text: str, choices: dict[str, list[str]]) -> list[str]:
    """List the clashes of rooms and students together."""
    lessons = read_lessons(text)
    return worst_first([*room_clashes(lessons), *student_clashes(lessons, choices)])
