"""Tables as text, for results that scripts print."""


def format_table(header, rows, num_left=1):
    """Returns a table as text: columns aligned by spaces, one line per row.

    Args:
      header: Sequence of str. Names of the columns.
      rows: Sequence of sequences of str. The cells.
      num_left: int. Number of the first columns to align on the left; the others are aligned on the
        right.
    """
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = [
            cell.ljust(width) if column < num_left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)
