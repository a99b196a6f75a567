"""Put tasks in an order in which each comes after everything it needs.

Each line is a task, optionally with a colon and the tasks that it needs, such as "bake: mix heat".
A task may stand on several lines, and then needs everything that they say; a task that is only
needed has no needs of its own. If there is an order, print it on one line, always taking the
alphabetically first of the tasks that could be next; then print the stages, one on a line, such as
"stage 1: heat mix": a task without needs is in stage 1, any other in the stage after the latest of
its needs. If there is none, print one circle such as "circle: a -> b -> a": begin with the first
in the alphabet of the tasks that cannot be done, go from each to the first in the alphabet of its
needs that cannot be done, and write the circle so reached from its first task in the alphabet.
Without any task, print "nothing to do".
"""

import heapq


def read_needs(data: str) -> dict[str, list[str]]:
    """Read what each task needs, without saying anything twice.

    kind: string
    ensures: all(needed in result for needs in result.values() for needed in needs)
    example: read_needs("a: b") == {"a": ["b"], "b": []}
    """
    needs: dict[str, list[str]] = {}
    for line in data.split("\n"):
        name, _, rest = line.partition(":")
        if not name.strip():
            continue
        own = needs.setdefault(name.strip(), [])
        for needed in rest.split():
            if needed not in own:
                own.append(needed)
            needs.setdefault(needed, [])
    return needs


def users_of(needs: dict[str, list[str]]) -> dict[str, list[str]]:
    """Turn the needs round: list the tasks by which each task is needed.

    kind: general
    requires: all(needed in needs for own in needs.values() for needed in own)
    """
    users: dict[str, list[str]] = {name: [] for name in needs}
    for name, own in needs.items():
        for needed in own:
            users[needed].append(name)
    return users


def order_tasks(needs: dict[str, list[str]]) -> list[str]:
    """Order the tasks; those that are on a circle, or need one that is, are left out.

    kind: graph_bfs
    uses: users_of
    ensures: len(result) == len(set(result)) <= len(needs)
    cost: O(n log n)
    example: order_tasks({"a": ["b"], "b": []}) == ["b", "a"]
    """
    users = users_of(needs)
    missing = {name: len(own) for name, own in needs.items()}
    ready = [name for name, count in missing.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        name = heapq.heappop(ready)
        order.append(name)
        for user in users[name]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, user)
    return order


def find_circle(needs: dict[str, list[str]], stuck: list[str]) -> list[str]:
    """Follow the stuck tasks into a circle and return it from its first task in the alphabet.

    kind: graph_dfs
    requires: len(stuck) > 0
    ensures: result[0] == min(result)
    ensures: set(result) <= set(stuck)
    example: find_circle({"b": ["a"], "a": ["b"]}, ["b", "a"]) == ["a", "b"]
    """
    path: list[str] = []
    name = min(stuck)
    while name not in path:
        path.append(name)
        name = min(needed for needed in needs[name] if needed in stuck)
    circle = path[path.index(name) :]
    first = circle.index(min(circle))
    return circle[first:] + circle[:first]


def stages(needs: dict[str, list[str]], order: list[str]) -> list[list[str]]:
    """Divide the ordered tasks into stages, each in alphabetical order.

    kind: dp
    requires: set(order) == set(needs)
    """
    stage: dict[str, int] = {}
    found: list[list[str]] = []
    for name in order:
        stage[name] = max((stage[needed] + 1 for needed in needs[name]), default=0)
        if stage[name] == len(found):
            found.append([])
        found[stage[name]].append(name)
    return [sorted(names) for names in found]


def solve(data: str) -> str:
    """Print an order and its stages, or a circle.

    kind: orchestration
    """
    needs = read_needs(data)
    if not needs:
        return "nothing to do"
    order = order_tasks(needs)
    if len(order) < len(needs):
        done = set(order)
        circle = find_circle(needs, [name for name in needs if name not in done])
        return "circle: " + " -> ".join([*circle, circle[0]])
    lines = [" ".join(order)]
    for number, names in enumerate(stages(needs, order), start=1):
        lines.append(f"stage {number}: {' '.join(names)}")
    return "\n".join(lines)


EXAMPLES = (
    ("", "nothing to do"),
    ("sleep", "sleep\nstage 1: sleep"),
    (
        "bake: mix heat\nmix: buy\neat: bake\nheat:",
        "buy heat mix bake eat\nstage 1: buy heat\nstage 2: mix\nstage 3: bake\nstage 4: eat",
    ),
    (
        "d: a\nc: b\n\nb: z\nd: c z a\na\ne: a",
        "a e z b c d\nstage 1: a z\nstage 2: b e\nstage 3: c\nstage 4: d",
    ),
    ("a: a", "circle: a -> a"),
    ("a: k x\nk: m\nm: d\nd: k\nx: y", "circle: d -> k -> m -> d"),
    ("q: s r\nr: q\ns: b q\nb\nt: b", "circle: q -> r -> q"),
)

LARGE = (
    "'\\n'.join(f'{i}: {max(i - 20, 0)} {i // 3}' for i in range(1000, 0, -1)) + '\\nend: ' + "
    "' '.join(map(str, range(1000)))"
)
