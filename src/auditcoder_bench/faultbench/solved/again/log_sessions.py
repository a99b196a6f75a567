"""The functions of log_sessions, written again by their contracts alone."""

import re
from itertools import accumulate


def read_seconds(text: str) -> int:
    """Return the seconds since midnight, or -1 if the text is no time."""
    found = re.fullmatch(r"([0-9]+):([0-9]+):([0-9]+)", text)
    if found is None:
        return -1
    hours, minutes, seconds = map(int, found.groups())
    return -1 if max(minutes, seconds) >= 60 else (hours * 60 + minutes) * 60 + seconds


def read_events(lines: list[str]) -> dict[str, list[int]]:
    """Return the times of each user's events in rising order."""
    pairs = [
        (words[1], read_seconds(words[0])) for words in map(str.split, lines) if len(words) == 2
    ]
    events: dict[str, list[int]] = {}
    for user, moment in sorted(pairs):
        if moment >= 0:
            events.setdefault(user, []).append(moment)
    return events


def cut_sessions(times: list[int], pause: int) -> list[tuple[int, int]]:
    """Return first and last moment of every session."""
    cuts = [place for place in range(1, len(times)) if times[place] - times[place - 1] > pause]
    if not times:
        return []
    return [
        (times[begin], times[after - 1])
        for begin, after in zip([0, *cuts], [*cuts, len(times)], strict=True)
    ]


def duration_text(seconds: int) -> str:
    """Write a duration as hours, minutes and seconds."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def user_line(user: str, sessions: list[tuple[int, int]]) -> str:
    """Write the line of one user."""
    together = sum(end - start for start, end in sessions)
    return " ".join([user, str(len(sessions)), duration_text(together)])


def busiest(sessions: list[tuple[int, int]]) -> int:
    """Return how many sessions at most go on at one moment."""
    # On equal times the beginnings (0) are sorted before the ends (1).
    events = sorted([(start, 0) for start, _ in sessions] + [(end, 1) for _, end in sessions])
    return max(accumulate((1 - 2 * kind for _, kind in events), initial=0))


def solve(data: str) -> str:
    """Print the sessions of each user and the peak."""
    head, _, body = data.partition("\n")
    pause = int(head.strip() or "0")
    sessions = {
        user: cut_sessions(times, pause) for user, times in read_events(body.splitlines()).items()
    }
    output = [user_line(user, sessions[user]) for user in sorted(sessions)]
    return "\n".join([*output, f"peak {busiest([s for own in sessions.values() for s in own])}"])
