def present(count: int | None) -> str:
    return "begin repairs" if count is None else str(count)
