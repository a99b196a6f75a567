"""The functions of chess_moves, written again by their contracts alone."""

from itertools import product


def read_board(rows: list[str]) -> dict[tuple[int, int], str]:
    """Return the piece on each field that has one, by row and column."""
    board: dict[tuple[int, int], str] = {}
    for number, row in enumerate(rows):
        board.update(((number, column), piece) for column, piece in enumerate(row) if piece != ".")
    return board


def on_board(row: int, column: int, size: int) -> bool:
    """Say whether a field lies on the board."""
    return row in range(size) and column in range(size)


def directions_of(piece: str) -> list[tuple[int, int]]:
    """Return the changes of row and column by which a piece moves."""
    # The squared length of a step tells straight (1), diagonal (2) and knight's (5) steps apart.
    lengths = {"K": {1, 2}, "Q": {1, 2}, "R": {1}, "B": {2}, "N": {5}}[piece]
    return [(dr, dc) for dr, dc in product(range(-2, 3), repeat=2) if dr * dr + dc * dc in lengths]


def step_moves(
    board: dict[tuple[int, int], str],
    field: tuple[int, int],
    directions: list[tuple[int, int]],
    size: int,
) -> list[tuple[int, int]]:
    """Return the fields that are one step away and not held by White."""
    targets = ((field[0] + dr, field[1] + dc) for dr, dc in directions)
    return [
        target
        for target in targets
        if on_board(*target, size) and not board.get(target, ".").isupper()
    ]


def slide_moves(
    board: dict[tuple[int, int], str],
    field: tuple[int, int],
    directions: list[tuple[int, int]],
    size: int,
) -> list[tuple[int, int]]:
    """Return the fields that are reached by going on until something is in the way."""
    reached: list[tuple[int, int]] = []
    for dr, dc in directions:
        for distance in range(1, size):
            target = (field[0] + distance * dr, field[1] + distance * dc)
            occupant = board.get(target, "")
            if occupant.isupper() or not on_board(target[0], target[1], size):
                break
            reached.append(target)
            if occupant:
                break
    return reached


def moves_of(
    board: dict[tuple[int, int], str], field: tuple[int, int], size: int
) -> list[tuple[int, int]]:
    """Return the fields to which the white piece on a field may go."""
    piece = board[field]
    way = step_moves if piece in {"K", "N"} else slide_moves
    return way(board, field, directions_of(piece), size)


def field_name(row: int, column: int, size: int) -> str:
    """Return the name of a field, such as a1 for the lowest row's first one."""
    return f"{'abcdefgh'[column]}{size - row}"


def chess_moves(rows: list[str]) -> dict[str, list[str]]:
    """Return the fields to which each white piece may go."""
    size, board = len(rows), read_board(rows)
    return {
        piece + field_name(*field, size): sorted(
            field_name(*target, size) for target in moves_of(board, field, size)
        )
        for field, piece in board.items()
        if piece.isupper()
    }
