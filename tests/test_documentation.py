"""The pages: their scripts, flags, make targets, links, and figures exist; their diffs apply.

Shell commands are in code blocks, fenced or indented. In a block with `$ ` prompts, the other lines
are output. Inline code that begins like a command is a command too.
"""

import ast
import functools
import importlib.util
import pathlib
import re

import pytest
from absl import flags

from tests import scripts
from tests.pages import (
    ROOT,
    anchors,
    apply_diff,
    code_blocks,
    commands,
    inline_code,
    is_tree,
    links,
    shell_lines,
)

OPTIONAL_PACKAGES = ("distributed",)  # The extra `dask` cannot be installed with NumPy 2.5.
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "ARCHITECTURE.md", "BUILD_NOTES.md", "CONTRIBUTING.md")
    ),
    *sorted((ROOT / "docs").glob("*.md")),
]
SHELL = {"", "sh", "bash", "shell", "console"}  # languages of fenced blocks
SCRIPT_FOLDERS = ("data_prep", "run", "benchmarks")
COMMON_FLAGS = {"help", "helpfull", "traceback"}
OTHER_FLAGS = {"no-compile", "vmodule", "stderrthreshold", "durations"}  # Of pip, libtpu, pytest.
ADDED_FLAG = re.compile(r"^\+ {4}(\w+): .* = setting\(", re.MULTILINE)  # In a diff of a page.
OUR_PATH = re.compile(r"(?:bert_tf|data_prep|run|tests|benchmarks|docs)/[\w./-]+")


def commands_of_page(text):
    """Returns the commands of a page, in code blocks and in inline code."""
    found = []
    for language, lines in code_blocks(text):
        if language in SHELL and not is_tree(lines):
            found += commands(shell_lines(lines))
    for span in inline_code(text):
        if re.match(r"(python|make) [\w.-]", span):
            found += commands([span])
        elif re.match(rf"({'|'.join(SCRIPT_FOLDERS)})\.(?!json\b)\w", span):
            found += commands([f"python -m {span}"])
    return found


def problems(words):
    """Returns messages about the parts of a command that do not exist.

    Other programs than python and make pass.
    """
    program, *arguments = words
    if program == "make":
        return make_problems(arguments)
    if not re.fullmatch(r"(.*/)?python[\d.]*", program) or not arguments:
        return []
    if arguments[0] == "-m":
        name = arguments[1]
        arguments = arguments[2:]
    elif arguments[0].endswith(".py"):
        name = arguments[0].removesuffix(".py").replace("/", ".")
        arguments = arguments[1:]
    else:
        return []
    stem = ROOT / name.replace(".", "/")
    package = name.split(".")[0]
    for path in (stem.with_suffix(".py"), stem / "__main__.py"):
        if path.is_file():
            return flag_problems(path, arguments)
    is_external = package not in SCRIPT_FOLDERS and (
        package in OPTIONAL_PACKAGES or importlib.util.find_spec(package) is not None
    )
    return [] if is_external else [f"no module {name}"]


def flag_problems(path, arguments):
    """Returns a message if a script, a path, rejects the flags in its arguments."""
    words = [
        word
        for word in arguments
        if re.match(r"-[^\d.]", word) and word.lstrip("-") not in COMMON_FLAGS
    ]
    module = import_script(path)
    if module is None:
        return [f"{path.relative_to(ROOT)} has no flags"] if words else []
    with scripts.defined(module) as defined:
        unknown = [word for word in words if word[2:].partition("=")[0] not in list_names(defined)]
        if unknown:
            return [f"{path.relative_to(ROOT)} has no flag {', '.join(unknown)}"]
        try:
            flags.FLAGS([str(path), *(word for word in words if "=" in word and "..." not in word)])
        except flags.Error as error:
            return [f"{path.relative_to(ROOT)}: {error}"]
        finally:
            flags.FLAGS.unparse_flags()
    return []


def list_names(defined):
    """Returns the names that a command line can use for flags, a dict of name -> absl's flag."""
    return {*defined, *(f"no{name}" for name, flag in defined.items() if flag.boolean)}


def import_script(path):
    """Returns the module of a path if it is a script with flags, else None."""
    if re.search(r"^COMMAND = ", path.read_text(encoding="utf-8"), re.MULTILINE):
        return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return None


@functools.cache
def find_flags():
    """Returns the names of the flags of all scripts."""
    names = set(COMMON_FLAGS)
    for folder in SCRIPT_FOLDERS:
        for path in (*(ROOT / folder).glob("*.py"), *(ROOT / folder).glob("*/__main__.py")):
            if module := import_script(path):
                with scripts.defined(module) as defined:
                    names |= list_names(defined)
    return names


def make_problems(arguments):
    """Returns messages about the targets and variables in the arguments of make."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):(?!=)", makefile, re.MULTILINE))
    variables = set(re.findall(r"^(\w+)\s*[:?]?=", makefile, re.MULTILINE))
    return [
        f"the Makefile has no {word}"
        for word in arguments
        if not word.startswith("-")
        and word.partition("=")[0] not in (variables if "=" in word else targets)
    ]


@pytest.fixture(params=PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def page(request):
    """Returns the path of each page."""
    return request.param


def test_commands(page):
    found = commands_of_page(page.read_text(encoding="utf-8"))
    assert found
    assert [
        f"{' '.join(words)[:100]}: {problem}" for words in found for problem in problems(words)
    ] == []


@pytest.mark.large
def test_links(page):
    found = []
    for target in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name) if name else page
        if not path.exists() or (
            anchor and anchor not in anchors(path.read_text(encoding="utf-8"))
        ):
            found.append(target)
    assert found == []


def test_flags_and_paths_in_the_prose(page):
    text = page.read_text(encoding="utf-8")
    spans = inline_code(text)
    named = {name for span in spans for name in re.findall(r"(?<![\w-])--(\w[\w-]*)", span)}
    assert named - find_flags() - OTHER_FLAGS - set(ADDED_FLAG.findall(text)) == set()
    assert [span for span in spans if OUR_PATH.fullmatch(span) and not (ROOT / span).exists()] == []


def test_imports_of_examples(page):
    for language, lines in code_blocks(page.read_text(encoding="utf-8")):
        if language != "python":
            continue
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in (
                "bert_tf",
                *SCRIPT_FOLDERS,
            ):
                module = importlib.import_module(node.module)
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def test_diffs_apply():
    blocks = code_blocks((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    changed = [apply_diff(lines) for language, lines in blocks if language == "diff"]
    assert len(changed) > 3
    for path, source in (each for files in changed for each in files.items()):
        if path.endswith(".py"):
            compile(source, path, "exec")


def test_the_tree():
    blocks = code_blocks((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    trees = [lines for _, lines in blocks if is_tree(lines)]
    assert len(trees) == 1
    folder = ""
    for line in trees[0]:
        name = line.split()[0]
        folder = folder if line.startswith(" ") else name
        if name.endswith(("/", ".md")):
            assert (ROOT / (folder + name if line.startswith(" ") else name)).exists(), line


def test_files_and_functions_of_the_architecture():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= 12_000
    assert missing_names(text) == []


def test_missing_files_and_functions_are_found():
    text = (
        "Read `bert_tf/models.py:BertEncoder.fly`, `TotalLoss.lost`, and `_fly`.\n\n"
        "    bert_tf/nowhere.py:run  ->  main   text\n"
        "    bert_tf/cli/script.py:Command.run  ->  fly\n"
    )
    assert missing_names(text) == [
        "bert_tf/models.py:BertEncoder.fly",
        "bert_tf/nowhere.py",
        "bert_tf/cli/script.py:fly",
        "TotalLoss.lost",
        "_fly",
    ]


def missing_names(text):
    """Returns the files and definitions that a page names, but that do not exist.

    A definition is named as `path/of/file.py:Class.method`, with `->  method` for others of its
    file, or as inline code without a file.
    """
    found = []
    for match in re.finditer(r"([\w/<>]+/[\w<>]+\.py)(?::([\w.]+))?((?: +-> +\w+)*)", text):
        path, name, others = match.groups()
        files = sorted(ROOT.glob(path.replace("<kind>", "*")))
        if not files:
            found.append(path)
            continue
        for each in filter(None, [name, *re.findall(r"\w+", others)]):
            if not any(names_in(file).issuperset(each.split(".")) for file in files):
                found.append(f"{path}:{each}")
    known = set().union(*(names_in(file) for file in source_files()))
    spans = [span for span in inline_code(text) if re.fullmatch(r"[A-Za-z_][\w.]*", span)]
    return found + [span for span in spans if not known.issuperset(span.split("."))]


def source_files():
    """Returns the paths of the product's modules."""
    return [path for name in ("bert_tf", *SCRIPT_FOLDERS) for path in (ROOT / name).rglob("*.py")]


@functools.cache
def names_in(path):
    """Returns the definitions in a module, its own name, and those of its packages."""
    names = {*path.relative_to(ROOT).with_suffix("").parts}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def test_every_page_can_be_reached():
    linked = {
        target.partition("#")[0]
        for path in PAGES
        for target in links(path.read_text(encoding="utf-8"))
    }
    assert {path.name for path in PAGES[1:]} <= {pathlib.Path(target).name for target in linked}
