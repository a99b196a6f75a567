"""Cut a log into sessions.

The first line holds the longest pause in seconds. Each further line is an event: a time of day
and a user, such as 09:15:30 ann. Lines that do not have exactly these two words, or whose time
is not three numbers with minutes and seconds below 60, are skipped. The lines come in any order.
Events of a user belong to one session as long as no pause between two of them is longer than the
longest pause; a session lasts from its first event to its last. Print for each user, by name,
the number of sessions and how long they last together, such as: ann 2 00:10:05. The last line
tells how many sessions at most went on at the same moment, such as: peak 3. A session that
begins at the very moment when another ends counts together with it. Without events the peak is 0.
"""

from bisect import bisect_left


def read_seconds(text: str) -> int:
    """Return the seconds since midnight, or -1 if the text is no time.

    kind: string
    ensures: result >= -1
    example: read_seconds("00:01:05") == 65
    """
    parts = text.split(":")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        return -1
    hours, minutes, seconds = map(int, parts)
    if minutes >= 60 or seconds >= 60:
        return -1
    return hours * 3600 + minutes * 60 + seconds


def read_events(lines: list[str]) -> dict[str, list[int]]:
    """Return the times of each user's events in rising order.

    kind: sorting
    uses: read_seconds
    ensures: all(times == sorted(times) for times in result.values())
    example: read_events(["00:00:09 ann", "oops"]) == {"ann": [9]}
    """
    events: dict[str, list[int]] = {}
    for line in lines:
        words = line.split()
        if len(words) != 2:
            continue
        moment = read_seconds(words[0])
        if moment >= 0:
            events.setdefault(words[1], []).append(moment)
    for times in events.values():
        times.sort()
    return events


def cut_sessions(times: list[int], pause: int) -> list[tuple[int, int]]:
    """Return first and last moment of every session.

    kind: two_pointer
    requires: times == sorted(times)
    ensures: all(start <= end for start, end in result)
    ensures: len(result) <= len(times)
    cost: O(n)
    example: cut_sessions([0, 5, 30], 10) == [(0, 5), (30, 30)]
    """
    sessions: list[tuple[int, int]] = []
    for moment in times:
        if sessions and moment - sessions[-1][1] <= pause:
            sessions[-1] = (sessions[-1][0], moment)
        else:
            sessions.append((moment, moment))
    return sessions


def duration_text(seconds: int) -> str:
    """Write a duration as hours, minutes and seconds.

    kind: string
    requires: seconds >= 0
    example: duration_text(0) == "00:00:00"
    """
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}"


def user_line(user: str, sessions: list[tuple[int, int]]) -> str:
    """Write the line of one user.

    kind: string
    uses: duration_text
    example: user_line("ann", [(0, 7)]) == "ann 1 00:00:07"
    """
    lasting = sum(end - start for start, end in sessions)
    return f"{user} {len(sessions)} {duration_text(lasting)}"


def busiest(sessions: list[tuple[int, int]]) -> int:
    """Return how many sessions at most go on at one moment.

    kind: binary_search
    ensures: 0 <= result <= len(sessions)
    cost: O(n log n)
    """
    starts = sorted(start for start, _ in sessions)
    ends = sorted(end for _, end in sessions)
    peak = 0
    for begun, moment in enumerate(starts, start=1):
        over = bisect_left(ends, moment)
        peak = max(peak, begun - over)
    return peak


def solve(data: str) -> str:
    """Print the sessions of each user and the peak.

    kind: orchestration
    """
    first, *lines = data.split("\n")
    events = read_events(lines)
    report = []
    everyone: list[tuple[int, int]] = []
    for user in sorted(events):
        sessions = cut_sessions(events[user], int(first))
        report.append(user_line(user, sessions))
        everyone.extend(sessions)
    report.append(f"peak {busiest(everyone)}")
    return "\n".join(report)


EXAMPLES = (
    ("30", "peak 0"),
    ("60\n00:00:00 x\n00:01:00 x\n00:02:01 x", "x 2 00:01:00\npeak 1"),
    (
        "60\n10:00:00 ann\n10:00:30 ann\n10:05:00 ann\n10:00:10 bob",
        "ann 2 00:00:30\nbob 1 00:00:00\npeak 2",
    ),
    (
        "100\nhello\n25:00 y\n09:60:00 y\n09:00:60 y\n09:10:00 y login\n\n09:1x:00 y\n09:10:00 y",
        "y 1 00:00:00\npeak 1",
    ),
    (
        "600\n08:16:00 c\n08:00:00 a\n08:10:00 a\n08:10:00 b\n08:15:00 b",
        "a 1 00:10:00\nb 1 00:05:00\nc 1 00:00:00\npeak 2",
    ),
    (
        "3600\n12:30:00 zed\n11:45:00 zed\n10:00:00 amy\n23:59:59 zed\n10:59:59 amy\n11:59:59 amy",
        "amy 1 01:59:59\nzed 2 00:45:00\npeak 2",
    ),
    (
        "9\n00:00:00 p\n00:00:09 p\n00:00:05 q\n00:00:14 q\n00:00:08 r\n00:00:10 r\n00:00:12 s",
        "p 1 00:00:09\nq 1 00:00:09\nr 1 00:00:02\ns 1 00:00:00\npeak 3",
    ),
)

LARGE = (
    "'600\\n' + '\\n'.join(f'{i * 7 % 24:02d}:{i * 11 % 60:02d}:{i * 13 % 61:02d} u{i % 17}' "
    "for i in range(2000))"
)
