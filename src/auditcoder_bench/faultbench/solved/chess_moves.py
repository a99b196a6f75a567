"""List the moves of White on a small chess board.

The board is square, with a side of at most 8, and is given as rows from top to bottom. A dot is
an empty field, capitals are white pieces and small letters black ones: K king, Q queen, R rook,
B bishop, N knight; there are no pawns. Columns are called a, b, c from the left, rows 1, 2, 3
from the bottom. Pieces move as usual: they may go to an empty field or take a black piece, and
all but the knight cannot leap over others. Check does not matter. Return for each white piece,
called by letter and field such as Ra3, the sorted list of the fields to which it may go, which
may be empty. A board without white pieces gives an empty answer.
"""


def read_board(rows: list[str]) -> dict[tuple[int, int], str]:
    """Return the piece on each field that has one, by row and column.

    kind: string
    ensures: "." not in result.values()
    example: read_board([".k"]) == {(0, 1): "k"}
    """
    board = {}
    for row, line in enumerate(rows):
        for column, piece in enumerate(line):
            if piece != ".":
                board[row, column] = piece
    return board


def on_board(row: int, column: int, size: int) -> bool:
    """Say whether a field lies on the board.

    kind: math
    example: on_board(0, 0, 1) == True
    """
    return 0 <= row < size and 0 <= column < size


def directions_of(piece: str) -> list[tuple[int, int]]:
    """Return the changes of row and column by which a piece moves.

    kind: general
    requires: len(piece) == 1 and piece in "KQRBN"
    ensures: len(result) in (4, 8)
    """
    straight = [(-1, 0), (0, -1), (0, 1), (1, 0)]
    diagonal = [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    if piece == "R":
        return straight
    if piece == "B":
        return diagonal
    if piece == "N":
        return [(a * x, b * y) for a, b in ((1, 2), (2, 1)) for x, y in diagonal]
    return straight + diagonal


def step_moves(
    board: dict[tuple[int, int], str],
    field: tuple[int, int],
    directions: list[tuple[int, int]],
    size: int,
) -> list[tuple[int, int]]:
    """Return the fields that are one step away and not held by White.

    kind: general
    uses: on_board
    ensures: len(result) <= len(directions)
    example: step_moves({}, (0, 0), [(0, 1), (0, -1)], 2) == [(0, 1)]
    """
    found = []
    for down, right in directions:
        row, column = field[0] + down, field[1] + right
        if on_board(row, column, size) and not board.get((row, column), "").isupper():
            found.append((row, column))
    return found


def slide_moves(
    board: dict[tuple[int, int], str],
    field: tuple[int, int],
    directions: list[tuple[int, int]],
    size: int,
) -> list[tuple[int, int]]:
    """Return the fields that are reached by going on until something is in the way.

    kind: general
    uses: on_board
    requires: (0, 0) not in directions
    example: slide_moves({}, (0, 0), [(0, 1)], 3) == [(0, 1), (0, 2)]
    """
    found = []
    for down, right in directions:
        row, column = field[0] + down, field[1] + right
        while on_board(row, column, size):
            other = board.get((row, column), "")
            if other.isupper():
                break
            found.append((row, column))
            if other:
                break
            row += down
            column += right
    return found


def moves_of(
    board: dict[tuple[int, int], str], field: tuple[int, int], size: int
) -> list[tuple[int, int]]:
    """Return the fields to which the white piece on a field may go.

    kind: general
    uses: directions_of, step_moves, slide_moves
    requires: field in board
    ensures: field not in result
    """
    piece = board[field]
    directions = directions_of(piece)
    if piece in "KN":
        return step_moves(board, field, directions, size)
    return slide_moves(board, field, directions, size)


def field_name(row: int, column: int, size: int) -> str:
    """Return the name of a field, such as a1 for the lowest row's first one.

    kind: string
    ensures: len(result) == 2
    example: field_name(0, 0, 3) == "a3"
    """
    return f"{'abcdefgh'[column]}{size - row}"


def chess_moves(rows: list[str]) -> dict[str, list[str]]:
    """Return the fields to which each white piece may go.

    kind: orchestration
    requires: all(len(row) == len(rows) for row in rows)
    """
    size = len(rows)
    board = read_board(rows)
    moves = {}
    for (row, column), piece in board.items():
        if piece.isupper():
            targets = moves_of(board, (row, column), size)
            names = sorted(field_name(*target, size) for target in targets)
            moves[piece + field_name(row, column, size)] = names
    return moves


EXAMPLES = (
    ("['K']", "{'Ka1': []}"),
    ("['kq', 'nr']", "{}"),
    ("['R..', '.n.', '...']", "{'Ra3': ['a1', 'a2', 'b3', 'c3']}"),
    (
        "['...', '.B.', 'N.r']",
        "{'Bb2': ['a3', 'c1', 'c3'], 'Na1': ['b3', 'c2']}",
    ),
    (
        "['Q...', '....', '..r.', '....']",
        "{'Qa4': ['a1', 'a2', 'a3', 'b3', 'b4', 'c2', 'c4', 'd4']}",
    ),
    (
        "['..k', '.K.', 'N..']",
        "{'Kb2': ['a2', 'a3', 'b1', 'b3', 'c1', 'c2', 'c3'], 'Na1': ['b3', 'c2']}",
    ),
    (
        "['.....', '.R.b.', '..N..', '.....', '.....']",
        (
            "{'Rb4': ['a4', 'b1', 'b2', 'b3', 'b5', 'c4', 'd4'], "
            "'Nc3': ['a2', 'a4', 'b1', 'b5', 'd1', 'd5', 'e2', 'e4']}"
        ),
    ),
)

LARGE = "['Q..n..B.', '..K..r..', '.N....R.', 'b...Q...'] * 2"
