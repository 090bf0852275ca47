"""Rules that find retired uses of one word each in the syntax tree of a file.

Identifiers are checked where they are defined: functions, classes, parameters, fields, variables.
See `tests.words`, which lists the uses, and the glossary in CONTRIBUTING.md.
"""

import ast
import re
from typing import NamedTuple


class Definition(NamedTuple):
    """An identifier where it is defined."""

    name: str
    node: ast.AST
    form: str  # "function", "class", "parameter", or "variable".


class Pattern(NamedTuple):
    """Identifiers with another meaning of a word.

    Attributes:
      use: str. Key of `tests.words.USES`.
      names: Compiled regular expression of a complete identifier.
      homes: Tuple of str. Beginnings of the paths of files that the pattern is not for.
      forms: Forms of Definition that it is for.
      exempt: Set of "path:identifier" with the word's one meaning.
    """

    use: str
    names: re.Pattern
    homes: tuple = ()
    forms: tuple = ("function", "class", "parameter", "variable")
    exempt: frozenset = frozenset()

    def matches(self, definition, path):
        """Returns whether a Definition in a file is a retired use."""
        return (
            definition.form in self.forms
            and not path.startswith(self.homes)
            and f"{path}:{definition.name}" not in self.exempt
            and self.names.fullmatch(definition.name) is not None
        )


PATTERNS = (
    # [CLS] a [SEP] and random bits were packs, too. These files are about packed rows.
    Pattern(
        "pack",
        re.compile(r"(?i:(.*_)?(un)?pack(s|ed|er|ing)?(_.*)?)|\w*Pack(ed)?[A-Z]\w*"),
        homes=(
            "benchmarks/packing.py",
            "bert_tf/layers/context.py",
            "bert_tf/losses.py",
            "data_prep/pretraining/",
            "data_prep/records/",
            "run/pretraining/",
        ),
    ),
    # Text to bytes or embeddings, and the outputs of the encoder.
    Pattern(
        "encode",
        re.compile(r"(.*_)?(encode|encoded|encodes)(_.*)?"),
        homes=("bert_tf/tokenization/tokenizer.py", "benchmarks/peers/"),
        exempt=frozenset(
            {
                "bert_tf/serving/model.py:encode",  # Users of sentence-transformers expect it.
                "bert_tf/tasks/servable.py:encode",
                "bert_tf/tasks/multiple_choice/graph.py:encode",
                "bert_tf/tasks/span_labeler/graph.py:encode",
                "bert_tf/tasks/span_labeler/graph.py:_encode",
                "bert_tf/tasks/span_labeler/graph.py:encoded",
            }
        ),
    ),
    # Formats, types, layer maps. These files are about kinds of tasks.
    Pattern(
        "kind",
        re.compile(r"(.*_)?kinds?(_.*)?", re.IGNORECASE),
        homes=(
            "bert_tf/checkpoints/huggingface_task.py",
            "bert_tf/checkpoints/huggingface.py",
            "bert_tf/checkpoints/peft.py",
            "bert_tf/checkpoints/task_metadata.py",
            "bert_tf/cli/model_jobs.py",
            "bert_tf/cli/resolution.py",
            "bert_tf/encoder.py",
            "bert_tf/keras_support/",
            "bert_tf/models.py",
            "bert_tf/serving/checkpoint.py",
            "bert_tf/serving/loading.py",
            "bert_tf/serving/mediapipe.py",
            "bert_tf/serving/model.py",
            "bert_tf/serving/plain_model.py",
            "bert_tf/serving/requests.py",
            "bert_tf/tasks/",
            "data_prep/tasks/",
            "run/analysis/",
            "run/finetuning/",
            "run/inference/",
            "run/techniques/lora.py",
        ),
    ),
    # Groups of texts that are sorted together.
    Pattern(
        "window",
        re.compile(r"_?window|window_(batches|bytes)", re.IGNORECASE),
        homes=(
            "bert_tf/tasks/",
            "data_prep/sentences/",
            "data_prep/tasks/",
            "run/finetuning/tasks/span_labeler.py",
        ),
    ),
    Pattern(
        "padding",
        re.compile(
            r"_?(may_)?groups?_by_length|_?(ignores?|removes?)_padding|_?is_(dynamic|static)"
            r"|((has|requires)_)?static_shapes|allows_dynamic_shapes|static_length",
        ),
        exempt=frozenset(
            {
                # Flags.
                "run/finetuning/settings.py:group_by_length",
                "run/inference/served_models.py:static_length",
                # The library, which does not have the Padding of a training run: whether layers
                # skip padding, and whether a Servable's rows have the length of that flag.
                "bert_tf/encoder.py:has_static_shapes",
                "bert_tf/fast/encoder.py:has_static_shapes",
                "bert_tf/fast/encoder.py:remove_padding",
                "bert_tf/serving/checkpoint.py:remove_padding",
                "bert_tf/serving/checkpoint.py:static_length",
                "bert_tf/tasks/servable.py:static_length",
                "bert_tf/tokenization/model_inputs.py:static_length",
            }
        ),
    ),
    Pattern(
        "max_",
        re.compile(
            r"_?(MOST|LARGEST|LONGEST|WIDEST|UPPER|FEWEST)(_\w+)?|_?(\w+_)?limits?|most|upper|fewest"
        ),
        exempt=frozenset({"bert_tf/serving/model.py:limit"}),
    ),
    Pattern("max_", re.compile(r"longest|largest"), forms=("parameter",)),
    Pattern("min_", re.compile(r"_?LEAST(_\w+)?|least")),
)
# Text of a docstring that describes a path, as `Args` or a field of a dict.
_PATH = re.compile(r"^\s*checkpoints?: (str\b|Path\b|Dict of \w+ -> checkpoint)", re.MULTILINE)
_DRAWING = re.compile(r"^\s*(Plots|Draws (a|the) (Drop|dropout|figure|plot))\b")
_BAR = re.compile(r"\bdraws? (a|the) (progress bar|figure|plot|picture|curve)", re.IGNORECASE)
_SETTINGS_WORDS = ("task", "step")


def find_definitions(tree):
    """Yields the Definitions in a syntax tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Definition(node.name, node, "function")
        elif isinstance(node, ast.ClassDef):
            yield Definition(node.name, node, "class")
        elif isinstance(node, ast.arg):
            yield Definition(node.arg, node, "parameter")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Definition(node.id, node, "variable")
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield Definition(node.attr, node, "variable")


def find_retired(tree, path):
    """Yields (use, line) of the retired uses of words in a syntax tree.

    Args:
      tree: ast.Module.
      path: str. Path of the file, relative to the root.
    """
    for definition in find_definitions(tree):
        for pattern in PATTERNS:
            if pattern.matches(definition, path):
                yield pattern.use, definition.node.lineno
    for node in ast.walk(tree):
        for use, is_retired in RULES:
            if is_retired(node, path):
                yield use, node.lineno


def _is_path(node, path):
    """Returns whether a node names a path `checkpoint`."""
    if isinstance(node, ast.FunctionDef) and node.name in ("checkpoint", "checkpoints"):
        return not path.startswith("bert_tf/checkpoints/")
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return _PATH.search(ast.get_docstring(node) or "") is not None
    value = _get_assigned(node, "checkpoint")
    return (
        (isinstance(value, ast.Attribute) and value.attr == "init_checkpoint")
        or (isinstance(value, ast.Call) and ast.unparse(value.func) in ("os.path.join", "str"))
        or (isinstance(value, ast.Constant) and isinstance(value.value, str))
    )


def _is_settings(word):
    """Returns the predicate of nodes that name settings with a word."""

    def is_retired(node, path):
        del path
        if isinstance(node, ast.AnnAssign):
            names = ast.unparse(node.annotation).replace(" | None", "")
            return ast.unparse(node.target) == word and names.endswith("Settings")
        if isinstance(node, ast.keyword):
            return (
                node.arg == word
                and isinstance(node.value, ast.Call)
                and ast.unparse(node.value.func).endswith(("Settings", "settings_class"))
            )
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            return node.value.attr == word and ast.unparse(node.value.value).endswith("settings")
        return False

    return is_retired


def _is_not_a_run(node, path):
    """Returns whether a node names an identifier, or the content of a file, `run`."""
    del path
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.target) == "run" and ast.unparse(node.annotation) in ("str", "dict")
    value = _get_assigned(node, "run")
    return isinstance(value, ast.Call) and "json" in ast.unparse(value.func)


def _is_not_a_phase(node, path):
    """Returns whether a node names settings `phase`, or a phase is a tuple."""
    del path
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value) == "phase"
    value = _get_assigned(node, "phase")
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "dataclasses.replace"


def _is_drawing(node, path):
    """Returns whether a node is a function `draw` that creates a Drop or a figure, or says so."""
    del path
    if isinstance(node, ast.FunctionDef):
        is_named = re.match(r"_?draw(_|$)", node.name) is not None
        return is_named and _DRAWING.match(ast.get_docstring(node) or "") is not None
    return _has_text(node) and _BAR.search(node.value) is not None


def _is_embedding(node, path):
    """Returns whether a node is the description "encoding" of a progress bar."""
    del path
    return _has_text(node) and node.value == "encoding"


def _is_second_window(node, path):
    """Returns whether a node is a class `Window` that is not the one of span labelers."""
    is_home = path == "bert_tf/tasks/span_labeler/decoding.py"
    return isinstance(node, ast.ClassDef) and node.name == "Window" and not is_home


def _has_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _get_assigned(node, name):
    """Returns the value that a node assigns to a variable, or None."""
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
        return node.value
    return None


RULES = (
    ("checkpoint", _is_path),
    *((word, _is_settings(word)) for word in _SETTINGS_WORDS),
    ("run", _is_not_a_run),
    ("phase", _is_not_a_phase),
    ("draw", _is_drawing),
    ("encode", _is_embedding),
    ("window", _is_second_window),
)
