"""Find what clashes in a school's timetable.

Each line of the text is one lesson: day, time, course and room, for example
Mon 09:00-10:30 Maths R1. Empty lines are skipped, and a course may have several lessons. The
choices tell which courses each student takes; a course without lessons does not matter. Two
lessons on the same day clash if they overlap by at least a minute; one that begins when another
ends does not clash. Report the clashes of lessons in the same room, such as
R1 Mon: Maths and Art (30 min), and those of lessons of the same student, with the student's name
in place of the room. The lesson that begins first is named first; of two that begin together it
is the one that ends first, then the one first in the alphabet. The longest overlap comes first,
equal ones in the order of their text.
"""


def read_time(text: str) -> int:
    """Return the minutes since midnight.

    kind: string
    ensures: result >= 0
    example: read_time("00:00") == 0
    """
    hours, minutes = text.split(":")
    return 60 * int(hours) + int(minutes)


def read_lessons(text: str) -> list[tuple[str, int, int, str, str]]:
    """Read day, start, end, course and room of every lesson.

    kind: string
    uses: read_time
    ensures: all(lesson[1] < lesson[2] for lesson in result)
    example: read_lessons("Mon 01:00-02:00 Art R1") == [("Mon", 60, 120, "Art", "R1")]
    """
    lessons = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        day, span, course, room = line.split()
        start, end = span.split("-")
        lessons.append((day, read_time(start), read_time(end), course, room))
    return lessons


def shared_minutes(start: int, end: int, other_start: int, other_end: int) -> int:
    """Return for how many minutes two spans of time overlap.

    kind: math
    requires: start <= end and other_start <= other_end
    ensures: 0 <= result <= end - start
    example: shared_minutes(0, 10, 5, 20) == 5
    """
    first = max(start, other_start)
    last = min(end, other_end)
    if last <= first:
        return 0
    return last - first


def clashing_pairs(
    lessons: list[tuple[str, int, int, str, str]],
) -> list[tuple[int, str, str, str]]:
    """Return the minutes, the day and both courses for every two lessons that overlap.

    kind: sorting
    uses: shared_minutes
    ensures: all(clash[0] > 0 for clash in result)
    """
    found = []
    ordered = sorted(lessons)
    for place, (day, start, end, course, _) in enumerate(ordered):
        for other_day, other_start, other_end, other, _ in ordered[place + 1 :]:
            if other_day != day or other_start >= end:
                break
            minutes = shared_minutes(start, end, other_start, other_end)
            found.append((minutes, day, course, other))
    return found


def room_clashes(lessons: list[tuple[str, int, int, str, str]]) -> list[tuple[int, str]]:
    """Return minutes and text of all clashes in rooms.

    kind: general
    uses: clashing_pairs
    """
    by_room: dict[str, list[tuple[str, int, int, str, str]]] = {}
    for lesson in lessons:
        by_room.setdefault(lesson[4], []).append(lesson)
    return [
        (minutes, f"{room} {day}: {first} and {second}")
        for room, held in by_room.items()
        for minutes, day, first, second in clashing_pairs(held)
    ]


def student_clashes(
    lessons: list[tuple[str, int, int, str, str]], choices: dict[str, list[str]]
) -> list[tuple[int, str]]:
    """Return minutes and text of all clashes of students.

    kind: general
    uses: clashing_pairs
    example: student_clashes([], {"eva": ["Art"]}) == []
    """
    clashes = []
    for student, courses in choices.items():
        chosen = set(courses)
        own = [lesson for lesson in lessons if lesson[3] in chosen]
        for minutes, day, first, second in clashing_pairs(own):
            clashes.append((minutes, f"{student} {day}: {first} and {second}"))
    return clashes


def worst_first(clashes: list[tuple[int, str]]) -> list[str]:
    """Write the clashes, the longest first.

    kind: sorting
    ensures: len(result) == len(clashes)
    example: worst_first([(5, "a"), (9, "b")]) == ["b (9 min)", "a (5 min)"]
    """
    ordered = sorted(clashes, key=lambda clash: (-clash[0], clash[1]))
    return [f"{text} ({minutes} min)" for minutes, text in ordered]


def timetable_clashes(text: str, choices: dict[str, list[str]]) -> list[str]:
    """Report all clashes of rooms and students.

    kind: orchestration
    """
    lessons = read_lessons(text)
    clashes = room_clashes(lessons)
    clashes.extend(student_clashes(lessons, choices))
    return worst_first(clashes)


EXAMPLES = (
    ("'', {'eva': ['Art']}", "[]"),
    ("'Mon 09:00-10:00 Art R1', {'zoe': ['Yoga', 'Art']}", "[]"),
    (
        "'Mon 09:00-10:30 Maths R1\\nMon 10:00-11:00 Art R1\\nTue 09:00-10:00 Art R1', {}",
        "['R1 Mon: Maths and Art (30 min)']",
    ),
    (
        (
            "'Mon 10:30-12:00 Chem R2\\nMon 09:00-10:30 Maths R1\\nMon 10:10-11:00 Art R1', "
            "{'eva': ['Art', 'Chem'], 'tom': ['Maths', 'Chem']}"
        ),
        "['eva Mon: Art and Chem (30 min)', 'R1 Mon: Maths and Art (20 min)']",
    ),
    (
        (
            "'Fri 08:00-12:00 Lab Hall\\nFri 09:15-09:45 Talk Hall\\nFri 11:00-13:00 Gym Hall\\n"
            "Thu 08:30-09:30 Talk Hall', {'ben': ['Lab', 'Talk']}"
        ),
        (
            "['Hall Fri: Lab and Gym (60 min)', 'Hall Fri: Lab and Talk (30 min)', "
            "'ben Fri: Lab and Talk (30 min)']"
        ),
    ),
    (
        (
            "'Wed 10:00-11:00 B X\\n\\nWed 10:00-11:00 A Y\\nWed 10:20-10:50 C X', "
            "{'kim': ['A', 'B', 'C'], 'abe': ['A']}"
        ),
        (
            "['kim Wed: A and B (60 min)', 'X Wed: B and C (30 min)', "
            "'kim Wed: A and C (30 min)', 'kim Wed: B and C (30 min)']"
        ),
    ),
)

LARGE = (
    "'\\n'.join(f'Mon {m // 60:02d}:{m % 60:02d}-{(m + 7) // 60:02d}:{(m + 7) % 60:02d} C{m} "
    "R{m % 2}' for m in range(1200, 0, -3)), {'a': [f'C{m}' for m in range(0, 1200, 9)], 'b': "
    "[f'C{m}' for m in range(240)]}"
)
