"""The functions of election_seats, written again by their contracts alone."""

from collections import Counter
from fractions import Fraction
from itertools import chain


def passing_parties(votes: dict[str, int], hurdle: int) -> dict[str, int]:
    """Return the parties that reach the hurdle, with their votes."""
    needed = Fraction(hurdle * sum(votes.values()), 100)
    return {party: count for party, count in votes.items() if count > 0 and count >= needed}


def claims_of(party: str, count: int, seats: int) -> list[tuple[Fraction, int, str]]:
    """Return a party's claims to seats, so that the better claim is the smaller tuple."""
    return [(Fraction(-count, divisor + 1), -count, party) for divisor in range(seats)]


def ranked_claims(votes: dict[str, int], seats: int) -> list[str]:
    """Return the party of every claim, the best claim first."""
    claims = chain.from_iterable(claims_of(party, votes[party], seats) for party in votes)
    return [claim[-1] for claim in sorted(claims)]


def hand_out(claims: list[str], parties: list[str], seats: int) -> dict[str, int]:
    """Give one seat to each of the first claims; every party is in the answer."""
    won = Counter(claims[:seats])
    return {party: won[party] for party in parties}


def coalition(won: dict[str, int]) -> list[str]:
    """Join the biggest parties until they have more than half of the seats."""
    total = sum(won.values())
    if total == 0:
        return []
    ranking = sorted(sorted(won), key=lambda party: won[party], reverse=True)
    size = 1
    while 2 * sum(won[party] for party in ranking[:size]) <= total:
        size += 1
    return ranking[:size]


def election_seats(
    votes: dict[str, int], seats: int, hurdle: int
) -> tuple[dict[str, int], list[str]]:
    """Return the seats of each party above the hurdle, and the coalition."""
    passing = passing_parties(votes, hurdle)
    won = hand_out(ranked_claims(passing, seats), [*passing], seats)
    return won, coalition(won)
