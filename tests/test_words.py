"""Words have one meaning: see `tests.words` and the glossary in CONTRIBUTING.md."""

import ast
import re

import pytest

from tests import homes, word_rules, words


@pytest.fixture(scope="module")
def findings():
    return words.find_all()


@pytest.mark.parametrize("use", words.USES)
def test_no_use_is_retired(findings, use):
    assert [f"{found.path}:{found.line}" for found in findings if found.use == use] == []


@pytest.mark.parametrize(
    ("use", "source"),
    [
        ("place", "a = 1\nplace = a"),
        ("place", "a = 1\nfor first_place in a:\n    pass"),
        ("place", "\ndef find_places(a):\n    pass"),
        ("place", "\nPLACES = 1"),
        ("place", "\nclass _Place:\n    pass"),
        ("place", "def f():\n    '''Returns the place of a file.'''"),
        ("place", "a = 1\nb = 2  # The places of tokens, shuffled in place."),
        ("place", "a = 1\nb = f'{a}: wrong place'"),
        ("settings_class", "a = 1\nclass Settings:\n    pass"),
        ("backquotes", "\nraise InputError('`size`=1: must be at least 2')"),
        ("backquotes", "\nraise InputError(f'`size`={size}: must be at least 2')"),
        ("backquotes", "\nraise InputError(f'`{name}`={size}: must be at least 2')"),
        ("backquotes", "\nraise InputError('`size` must be at least 2')"),
    ],
)
def test_a_use_is_found(use, source):
    assert list(words.find_uses(source, "a.py")) == [words.Finding(use, "a.py", 2)]


@pytest.mark.parametrize(
    "source",
    [
        "a = b.replace('c', 'd')\nreplaced = placeholder = 1",
        "def f():\n    '''Shuffles an array in place; this takes place once.'''",
        "class ClassifierSettings:\n    pass",
        "raise InputError('must be at least 2', 'size', size)",
        "raise InputError('`max_size` is less than `size`', 'size')",
        "raise InputError('`size` and `max_size` cannot be combined')",
        "raise InputError(f'{path}: requires `size`')",
    ],
)
def test_other_uses_are_not_found(source):
    assert list(words.find_uses(source, "a.py")) == []


@pytest.mark.parametrize(
    ("use", "path", "source"),
    [
        ("pack", "bert_tf/a.py", "def pack_texts(a):\n    pass"),
        ("pack", "bert_tf/a.py", "class PackedDropout:\n    pass"),
        ("encode", "run/a.py", "encoded = f(1)"),
        ("encode", "run/a.py", "def encode(texts):\n    pass"),
        ("encode", "run/a.py", "f('encoding')"),
        ("kind", "bert_tf/cli/a.py", "def f(kind):\n    pass"),
        ("kind", "data_prep/a.py", "for kinds in a:\n    pass"),
        ("checkpoint", "run/a.py", "checkpoint = settings.model.init_checkpoint"),
        ("checkpoint", "run/a.py", "def checkpoint(self):\n    pass"),
        (
            "checkpoint",
            "run/a.py",
            "def f(checkpoint):\n    '''Reads.\n\n    Args:\n      checkpoint: Path.\n    '''",
        ),
        ("task", "run/a.py", "task: TaskSettings"),
        ("task", "run/a.py", "f(task=module.ClassifierSettings())"),
        ("task", "run/a.py", "a = settings.task.margin"),
        ("step", "run/a.py", "step: StepSettings | None"),
        ("step", "run/a.py", "a = self.settings.step.jit_compile"),
        ("run", "run/a.py", "run: str"),
        ("run", "run/a.py", "run = read_json_object(path)"),
        ("window", "run/a.py", "window = 1"),
        ("window", "run/a.py", "WINDOW_BYTES = 1"),
        ("window", "data_prep/tasks/a.py", "class Window:\n    pass"),
        ("draw", "bert_tf/a.py", "def draw(a):\n    '''Draws the Drop of a.'''"),
        ("draw", "run/a.py", "def draw_curves(a):\n    '''Plots loss.png.'''"),
        ("draw", "run/a.py", "'Reads, and draws a progress bar.'"),
        ("phase", "run/a.py", "phase = dataclasses.replace(settings, size=1)"),
        ("phase", "run/a.py", "a = phase[1]"),
        ("padding", "run/a.py", "def f(ignore_padding):\n    pass"),
        ("padding", "run/a.py", "is_static = True"),
        ("max_", "bert_tf/a.py", "MOST_LAYERS = 1"),
        ("max_", "bert_tf/a.py", "WIDEST = 1"),
        ("max_", "bert_tf/a.py", "limit = 1"),
        ("min_", "bert_tf/a.py", "LEAST_NORM = 1"),
        ("kind", "bert_tf/serving/openvino.py", "kind = node.get_type_name()"),
        ("max_", "bert_tf/a.py", "def f(longest):\n    pass"),
        ("literal", "run/a.py", "a = 'vocab.txt'"),
        ("literal", "run/a.py", "a = ['input_ids', 'input_mask', 'segment_ids', 'label_ids']"),
    ],
)
def test_another_meaning_is_found(use, path, source):
    assert words.Finding(use, path, 1) in set(words.find_uses(source, path))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("data_prep/pretraining/a.py", "def pack(sequences, max_packed):\n    pass"),
        ("bert_tf/a.py", "package = unpickle = 1"),
        ("bert_tf/serving/model.py", "def encode(self, texts):\n    self.limit = 1"),
        ("bert_tf/tasks/a.py", "kind = KINDS[metadata.kind]"),
        ("run/a.py", "f(kind='stable', task=task, step=run.step, limit=model.limit)"),
        ("run/a.py", "checkpoint = open_checkpoint(settings.init_checkpoint)"),
        ("run/a.py", "task: Task"),
        ("run/a.py", "def draw_numbers(seed):\n    '''Draws numbers at random.'''"),
        ("run/finetuning/settings.py", "group_by_length: bool = setting(True)"),
        ("run/a.py", "longest = largest = max(lengths)"),
        ("bert_tf/features.py", "FEATURES = ('input_ids', 'input_mask', 'segment_ids')"),
        ("run/a.py", "a = 'Path of the vocab.txt'"),
    ],
)
def test_the_one_meaning_is_not_found(path, source):
    assert list(words.find_uses(source, path)) == []


@pytest.mark.parametrize(
    ("use", "first", "second"),
    [
        ("constant", "NAME = 'a.json'", "NAME = 'a.json'"),
        ("constant", "_PART_2 = 'a.json'", "_PART_2 = 'a.json'"),
        ("function", "def read_rows(path):\n    pass", "def read_rows(path, options):\n    pass"),
    ],
)
def test_a_second_home_is_found(use, first, second):
    found = {"constant": [], "function": []}
    for path, source in (("bert_tf/a.py", first), ("run/b.py", second)):
        for name, others in homes.find_homes(ast.parse(source), path).items():
            found[name] += others
    assert [(name, home.path) for name, home in homes.find_second_homes(found)] == [
        (use, "run/b.py")
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("NAME = 'a.json'", "NAME = 'b.json'"),
        ("SEED = 12345", "SEED = 12345"),
        ("def read_rows(path):\n    pass", "def read_rows(path):\n    return 1"),
        ("def write(path):\n    pass", "def write(path, rows):\n    pass"),
        ("def _read(path):\n    pass", "def _read(path, rows):\n    pass"),
    ],
)
def test_other_names_have_several_homes(first, second):
    found = {"constant": [], "function": []}
    for path, source in (("bert_tf/a.py", first), ("run/b.py", second)):
        for name, others in homes.find_homes(ast.parse(source), path).items():
            found[name] += others
    assert list(homes.find_second_homes(found)) == []


AXES = {"B": "batch", "WO": "words"}


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("'''Layers.\n\nShape legend: B batch, W words.\n'''", 1),
        ("'''Layers.\n\nShape legend: B batch of texts.\n'''", 1),
        ("'''Layers. Legend: B batch.'''\nx = y  # [B, WO, 3].", 2),
        ('def f(x):\n    """Adds.\n\n    x: float32 [B,\n      2 * W].\n    """', 4),
    ],
)
def test_another_meaning_of_a_letter_is_found(source, line):
    assert list(homes.find_axes(source, "run/a.py", AXES)) == [("axis", line)]


def test_letters_have_the_meaning_of_the_table():
    legend = "'''Layers. Legend: B batch, WO\nwords, (n) a ragged one.'''"
    source = f"{legend}\nx = y  # [B, (n), WO + 1, CLS]"
    assert list(homes.find_axes(source, "run/a.py", AXES)) == []
    assert list(homes.find_axes("x = [B, K]  # [B, WO] or [CLS].", "run/a.py", AXES)) == []
    table = (
        "## Words\n\n| `A` | a |\n\n## Axis letters\n\n| `B` | batch |\n| `WO` | words |\n\n## B"
    )
    assert homes.read_axes(table) == AXES
    assert homes.read_axes((words.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))["S"]


def test_exemptions_are_in_use(findings):
    """An exempt identifier that no longer exists would allow a new one."""
    del findings
    for pattern in word_rules.PATTERNS:
        for exempt in pattern.exempt:
            path, _, name = exempt.partition(":")
            tree = ast.parse((words.ROOT / path).read_text(encoding="utf-8"))
            assert name in {found.name for found in word_rules.find_definitions(tree)}, exempt
    for path in homes.LITERALS.values():
        assert (words.ROOT / path).exists()
    found = {home.name for _, home in homes.find_second_homes(words.find_all_homes(), exempt=())}
    assert found == {*homes.INDEPENDENT, *homes.PROTOCOLS}


@pytest.mark.parametrize("pattern", word_rules.PATTERNS, ids=lambda pattern: pattern.use)
def test_files_with_the_one_meaning_have_it(pattern):
    for home in pattern.homes:
        path = words.ROOT / home
        files = [path] if path.is_file() else path.rglob("*.py")
        names = {
            found.name
            for file in files
            for found in word_rules.find_definitions(ast.parse(file.read_text(encoding="utf-8")))
        }
        assert any(pattern.names.fullmatch(name) for name in names), home


def test_the_glossary_has_twenty_words():
    guide = (words.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = guide.partition("\n## Words\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len({row.split("|")[1] for row in rows}) == 20
    for row in rows:
        meaning = row.split("|")[2].strip()
        assert re.search(r"[^.]\.$", meaning), row
        assert not re.search(r"[^.]\. [A-Z]", meaning), row


def test_the_base_class_of_settings_is_exempt():
    source = "class Settings:\n    pass"
    assert list(words.find_uses(source, words.SETTINGS_HOME)) == []
