"""Give the seats of a parliament to the parties.

Given are the votes of each party, the number of seats and a hurdle in percent of all votes. A
party with fewer votes than the hurdle, or without any vote, gets nothing and is left out of the
answer. The seats go by the method of the highest averages: a party's votes are divided by 1, 2,
3 and so on, and the greatest of all these quotients get a seat each. Of equal quotients the one
of the party with more votes comes first, then the one whose name comes first in the alphabet.
Return the seats of every party above the hurdle, also if it has none, and the coalition that is
formed by joining the biggest parties (again by name if equal) until they have more than half of
the seats. If no seats are given out there is no coalition.
"""

from fractions import Fraction


def passing_parties(votes: dict[str, int], hurdle: int) -> dict[str, int]:
    """Return the parties that reach the hurdle, with their votes.

    kind: math
    requires: all(count >= 0 for count in votes.values())
    ensures: set(result) <= set(votes)
    example: passing_parties({"A": 96, "B": 4}, 5) == {"A": 96}
    """
    total = sum(votes.values())
    return {
        party: count
        for party, count in votes.items()
        if count > 0 and count * 100 >= hurdle * total
    }


def claims_of(party: str, count: int, seats: int) -> list[tuple[Fraction, int, str]]:
    """Return a party's claims to seats, so that the better claim is the smaller tuple.

    kind: math
    requires: count > 0
    ensures: len(result) == seats
    """
    claims = []
    for divisor in range(1, seats + 1):
        quotient = Fraction(count, divisor)
        claims.append((-quotient, -count, party))
    return claims


def ranked_claims(votes: dict[str, int], seats: int) -> list[str]:
    """Return the party of every claim, the best claim first.

    kind: sorting
    uses: claims_of
    ensures: len(result) == seats * len(votes)
    cost: O(n log n) for n claims
    example: ranked_claims({"A": 3, "B": 2}, 2) == ["A", "B", "A", "B"]
    """
    claims = []
    for party, count in votes.items():
        claims.extend(claims_of(party, count, seats))
    claims.sort()
    return [party for _, _, party in claims]


def hand_out(claims: list[str], parties: list[str], seats: int) -> dict[str, int]:
    """Give one seat to each of the first claims; every party is in the answer.

    kind: greedy
    ensures: sum(result.values()) == min(seats, len(claims))
    example: hand_out(["A", "B", "A"], ["A", "B"], 1) == {"A": 1, "B": 0}
    """
    won = dict.fromkeys(parties, 0)
    for party in claims[:seats]:
        won[party] += 1
    return won


def coalition(won: dict[str, int]) -> list[str]:
    """Join the biggest parties until they have more than half of the seats.

    kind: greedy
    example: coalition({"A": 1, "B": 3}) == ["B"]
    """
    total = sum(won.values())
    if total == 0:
        return []
    members = []
    joined = 0
    for party in sorted(won, key=lambda name: (-won[name], name)):
        members.append(party)
        joined += won[party]
        if 2 * joined > total:
            break
    return members


def election_seats(
    votes: dict[str, int], seats: int, hurdle: int
) -> tuple[dict[str, int], list[str]]:
    """Return the seats of each party above the hurdle, and the coalition.

    kind: orchestration
    requires: seats >= 0
    """
    passed = passing_parties(votes, hurdle)
    claims = ranked_claims(passed, seats)
    won = hand_out(claims, list(passed), seats)
    return won, coalition(won)


EXAMPLES = (
    ("{}, 5, 5", "({}, [])"),
    ("{'A': 3, 'B': 0}, 0, 0", "({'A': 0}, [])"),
    (
        "{'A': 100, 'B': 80, 'C': 30, 'D': 20}, 8, 0",
        "({'A': 4, 'B': 3, 'C': 1, 'D': 0}, ['A', 'B'])",
    ),
    ("{'A': 60, 'B': 35, 'C': 5}, 5, 5", "({'A': 3, 'B': 2, 'C': 0}, ['A'])"),
    ("{'B': 20, 'A': 10}, 2, 0", "({'B': 2, 'A': 0}, ['B'])"),
    ("{'L': 4, 'K': 4, 'M': 1}, 4, 0", "({'L': 2, 'K': 2, 'M': 0}, ['K', 'L'])"),
    ("{'Y': 48, 'X': 48, 'Z': 4}, 3, 5", "({'Y': 1, 'X': 2}, ['X'])"),
)

LARGE = "{f'p{i}': 9000 // (i + 1) for i in range(400)}, 300, 1"
