"""The functions of dependency_order, written again by their contracts alone."""

import heapq
from collections import Counter


def read_needs(data: str) -> dict[str, list[str]]:
    """Read what each task needs, without saying anything twice."""
    found: dict[str, dict[str, None]] = {}
    for line in data.splitlines():
        task, _, rest = line.partition(":")
        if not task.strip():
            continue
        own = found.setdefault(task.strip(), {})
        for needed in rest.split():
            own[needed] = None
            found.setdefault(needed, {})
    return {task: list(own) for task, own in found.items()}


def users_of(needs: dict[str, list[str]]) -> dict[str, list[str]]:
    """Turn the needs round: list the tasks by which each task is needed."""
    users: dict[str, list[str]] = {task: [] for task in needs}
    for task, own in needs.items():
        for needed in own:
            users[needed].append(task)
    return users


def order_tasks(needs: dict[str, list[str]]) -> list[str]:
    """Order the tasks; those that are on a circle, or need one that is, are left out."""
    users = users_of(needs)
    done: Counter[str] = Counter()
    ready = sorted(task for task, own in needs.items() if not own)
    order: list[str] = []
    while ready:
        order.append(heapq.heappop(ready))
        for user in users[order[-1]]:
            done[user] += 1
            if done[user] == len(needs[user]):
                heapq.heappush(ready, user)
    return order


def find_circle(needs: dict[str, list[str]], stuck: list[str]) -> list[str]:
    """Follow the stuck tasks into a circle and return it from its first task in the alphabet."""
    blocked = set(stuck)
    trail: dict[str, int] = {}
    task = min(blocked)
    while task not in trail:
        trail[task] = len(trail)
        task = min(blocked.intersection(needs[task]))
    circle = list(trail)[trail[task] :]
    turn = circle.index(min(circle))
    return circle[turn:] + circle[:turn]


def stages(needs: dict[str, list[str]], order: list[str]) -> list[list[str]]:
    """Divide the ordered tasks into stages, each in alphabetical order."""
    level: dict[str, int] = {}
    for task in order:
        level[task] = max((level[needed] + 1 for needed in needs[task]), default=0)
    return [
        sorted(task for task in order if level[task] == number)
        for number in range(max(level.values(), default=-1) + 1)
    ]


def solve(data: str) -> str:
    """Print an order and its stages, or a circle."""
    needs = read_needs(data)
    if not needs:
        return "nothing to do"
    order = order_tasks(needs)
    if len(order) < len(needs):
        circle = find_circle(needs, sorted(needs.keys() - set(order)))
        return "circle: " + " -> ".join([*circle, circle[0]])
    output = [" ".join(order)]
    for number, tasks in enumerate(stages(needs, order), start=1):
        output.append(f"stage {number}: {' '.join(tasks)}")
    return "\n".join(output)
