import sys


def solve(raw_input: str) -> str:
    return present(route_count(raw_input))


if __name__ == "__main__":
    print(solve(sys.stdin.read()))
