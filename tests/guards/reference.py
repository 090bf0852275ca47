"""The files of tests/reference/guards/: object graphs, summaries, and operations, which do not depend on the machine.

The file of object graphs is short: an entry lists only the lines that a similar entry has or lacks.
"""

import collections
import hashlib
import json
import pathlib

import numpy as np

from tests.guards import checkpoints

FOLDER = pathlib.Path(__file__).parents[1] / "reference" / "guards"
GRAPHS, SUMMARIES, OPERATIONS = (FOLDER / f"{name}.json" for name in ("object_graphs", "summaries", "operations"))
TOLERANCE = 1e-4  # relative, as in the reference runs; for the checksum relative to the norms


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def write(path, values):
    """Writes a dict as JSON: object graphs with a line per variable, other values with a line per entry."""
    entries = (f"{json.dumps(name)}: {json.dumps(value, indent=1 if path == GRAPHS else None)}"
               for name, value in values.items())
    path.parent.mkdir(exist_ok=True)
    path.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")


def encode(graphs):
    """Shortens object graphs, dict of name to list of lines, for the file GRAPHS."""
    encoded = {}
    for place, (name, lines) in enumerate(graphs.items()):
        counted = collections.Counter(lines)
        earlier = [(sum(((counted - other) + (other - counted)).values()), like, other)
                   for like, other in ((like, collections.Counter(graphs[like])) for like in list(graphs)[:place])]
        distance, like, other = min(earlier, key=lambda each: each[0], default=(len(lines), None, None))
        encoded[name] = {"lines": lines} if distance >= len(lines) else {
            "like": like, "without": sorted((other - counted).elements()), "with": sorted((counted - other).elements()),
            "sha256": digest(lines)}
    return encoded


def digest(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def graph_difference(name, lines):
    """Describes how an object graph differs from the one in GRAPHS. Returns "" if it does not."""
    encoded = read(GRAPHS)
    expected = _lines_in(encoded, name)
    counted = collections.Counter(lines)
    gone, new = sorted((expected - counted).elements()), sorted((counted - expected).elements())
    if gone or new:
        return "\n".join([*(f"- {line}" for line in gone), *(f"+ {line}" for line in new)])
    entry = encoded[name]
    return "" if entry.get("sha256", digest(entry.get("lines", []))) == digest(lines) else "the same lines, reordered"


def _lines_in(encoded, name):
    entry = encoded[name]
    if "lines" in entry:
        return collections.Counter(entry["lines"])
    return (_lines_in(encoded, entry["like"]) - collections.Counter(entry["without"])
            + collections.Counter(entry["with"]))


def summary_difference(name, found):
    """Describes how a summary differs from the one in SUMMARIES. Returns "" if it is within TOLERANCE."""
    expected = read(SUMMARIES)[name]
    scale = {**expected, "checksum": np.hypot(expected["weights"], expected["others"])}
    return ", ".join(f"{key}: {found[key]!r} instead of {value!r}" for key, value in expected.items()
                     if not abs(found[key] - value) <= TOLERANCE * scale[key])


def operations_difference(name, found):
    """Describes how counts differ from those in OPERATIONS. Returns "" if their sum is not higher."""
    expected = read(OPERATIONS)[name]
    if sum(found.values()) <= sum(expected.values()):
        return ""
    return f"{sum(found.values())} operations, not {sum(expected.values())}: " + ", ".join(
        f"{kind} {expected.get(kind, 0)} -> {found.get(kind, 0)}" for kind in sorted({*found, *expected})
        if found.get(kind, 0) != expected.get(kind, 0))


def write_from(path, tensors_of, models, operations):
    """Writes the three files.

    Args:
      path: `pathlib.Path` of a file that `digests.record` wrote.
      tensors_of: Function from the name of a case to its tensors.
      models: Dict of name to the lines of an object graph.
      operations: Dict of name to dict of type to count.
    """
    recorded = read(path)
    write(GRAPHS, encode({**models, **{name: case["object_graph"] for name, case in recorded.items()}}))
    write(SUMMARIES, {name: checkpoints.summary(tensors_of(name)) for name in recorded})
    write(OPERATIONS, operations)
