"""Correct and wrong programs for introductory APPS problems.

The correct ones pass every case of the data; the wrong ones have one typical mistake each. They
read with `input`, which both checkers support.
"""

from typing import NamedTuple


class Pair(NamedTuple):
    """A correct and a wrong program for one problem."""

    problem: str
    right: str
    wrong: str
    passes: int
    """Number of cases that the wrong program passes."""


PAIRS = (
    Pair(
        "4027",
        right="""\
n = int(input())
print(n * (n + 1) // 2 % 2)
""",
        wrong="""\
n = int(input())
print(n % 2)
""",
        passes=31,
    ),
    Pair(
        "4032",
        right="""\
n, k = map(int, input().split())
a = list(map(int, input().split()))
hard = [i for i in range(n) if a[i] > k]
print(hard[0] + n - 1 - hard[-1] if hard else n)
""",
        wrong="""\
n, k = map(int, input().split())
a = list(map(int, input().split()))
hard = [i for i in range(n) if a[i] > k]
print(hard[0] + n - 1 - hard[-1])
""",
        passes=32,
    ),
    Pair(
        "4049",
        right="""\
n = int(input())
a = list(map(int, input().split()))
b = list(map(int, input().split()))
most = sum(min(a[i], b[(i + 1) % 3]) for i in range(3))
least = max(0, *(a[i] - b[i] - b[(i + 2) % 3] for i in range(3)))
print(least, most)
""",
        wrong="""\
n = int(input())
a = list(map(int, input().split()))
b = list(map(int, input().split()))
most = sum(min(a[i], b[(i + 1) % 3]) for i in range(3))
print(0, most)
""",
        passes=11,
    ),
    Pair(
        "4098",
        right="""\
n, k = map(int, input().split())
a = sorted(map(int, input().split()))
first = [0] * n
for i in range(n):
    first[i] = first[i - 1] if i else 0
    while a[i] - a[first[i]] > 5:
        first[i] += 1
best = [0] * (n + 1)
for _ in range(k):
    before, best = best, [0] * (n + 1)
    for i in range(n):
        best[i + 1] = max(best[i], before[first[i]] + i + 1 - first[i])
print(best[n])
""",
        wrong="""\
n, k = map(int, input().split())
a = sorted(map(int, input().split()))
total = at = 0
for _ in range(k):
    start = at
    while at < n and a[at] - a[start] <= 5:
        at += 1
    total += at - start
print(total)
""",
        passes=16,
    ),
    Pair(
        "4121",
        right="""\
n = int(input())
stack = []
for height in map(int, input().split()):
    if stack and stack[-1] == height % 2:
        stack.pop()
    else:
        stack.append(height % 2)
print("YES" if len(stack) < 2 else "NO")
""",
        wrong="""\
n = int(input())
odd = sum(int(height) % 2 for height in input().split())
print("YES" if odd % 2 == 0 or (n - odd) % 2 == 0 else "NO")
""",
        passes=15,
    ),
    Pair(
        "4341",
        right="""\
n, m = map(int, input().split())
near = [[] for _ in range(n)]
for _ in range(m):
    v, u = map(int, input().split())
    near[v - 1].append(u - 1)
    near[u - 1].append(v - 1)
seen = [False] * n
cycles = 0
for start in range(n):
    if seen[start]:
        continue
    seen[start] = True
    part = [start]
    for v in part:
        for u in near[v]:
            if not seen[u]:
                seen[u] = True
                part.append(u)
    cycles += all(len(near[v]) == 2 for v in part)
print(cycles)
""",
        wrong="""\
n, m = map(int, input().split())
degree = [0] * n
for _ in range(m):
    v, u = map(int, input().split())
    degree[v] += 1
    degree[u] += 1
print(sum(d == 2 for d in degree) // 3)
""",
        passes=2,
    ),
)
