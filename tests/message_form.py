"""Finds assertions that pin a message word for word, instead of its parts.

A message is what `match` of pytest.raises, the text of a caught exception, or standard error is
compared with. It may also be a column of a table, an argument of a helper, or a constant that gets
there. `tests.code_form` counts these assertions, and the parts that nearly any message contains.
"""

import ast
import re

MAX_WORDS = 6  # In a row: more are a sentence.
CHECKS = ("rejects", "Message", "check_message")  # Their arguments after the first are parts.
STREAMS = ("err", "stderr")
CALLS = ("scripts.fail", "get_error")  # They return a message.
# Words that any problem or advice has: a part needs another one, which names what it is about.
COMMON_WORDS = re.compile(
    r"(\W|\b(a|all|an|and|another|are|as|at|be|both|by|can|cannot|choose|do|does|for|from|has|have|in"
    r"|is|it|its|list|must|no|not|of|on|only|or|set|that|the|this|to|use|with)\b)*|\W*\w\W*"
)
# Where the pattern of a message omits words.
_GAP = re.compile(r"\\?\n|\.[*+]\??|\\[SwW][*+]")


def find_whole_messages(tree):
    """Returns the sorted lines of the texts with more than MAX_WORDS words of a message in a row.

    Args:
      tree: ast.Module. A module of tests.
    """
    module = _Module(tree)
    waiting = list(module.find_checked())
    lines = {}
    seen = set()
    while waiting:
        scope, node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for part in _walk_texts(node):
            if isinstance(part, ast.Name | ast.Attribute):
                waiting += module.find_values(scope, part)
            elif _count_words(part) > MAX_WORDS:
                lines[part.lineno, part.col_offset] = part.lineno
    return sorted(lines.values())


def find_empty_parts(tree):
    """Yields the lines of the parts that only have COMMON_WORDS, or are one letter or digit.

    Args:
      tree: ast.Module. A module of tests.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func).rpartition(".")[2]
            first = 2 if function == "check_message" else 1
            for part in node.args[first:] if function in CHECKS else ():
                text = part.value if isinstance(part, ast.Constant) else None
                if isinstance(text, str) and COMMON_WORDS.fullmatch(text.lower()):
                    yield part.lineno


def _walk_texts(node):
    """Yields the complete texts of an expression, and its names."""
    if isinstance(node, ast.JoinedStr | ast.Name | ast.Attribute) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    ):
        yield node
    children = ast.iter_child_nodes(node)
    if isinstance(node, ast.JoinedStr):
        children = [part for part in node.values if isinstance(part, ast.FormattedValue)]
    for child in children if not isinstance(node, ast.Name | ast.Attribute) else ():
        yield from _walk_texts(child)


def _count_words(text):
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    written = "".join(
        str(part.value) if isinstance(part, ast.Constant) else "{value}" for part in parts
    )
    rows = [re.findall(r"\S*\w\S*", row) for row in _GAP.split(written)]
    return max(len(row) for row in rows)


class _Module:
    """A module of tests, and the definitions of the messages in it."""

    def __init__(self, tree):
        self.tree = tree
        self.functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        self.calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]

    def find_checked(self):
        """Yields the expressions that messages are compared with, as (function, expression)."""
        for scope in (self.tree, *self.functions):
            nodes = list(_walk_scope(scope))
            messages = _name_messages(nodes)
            for node in nodes:
                for expression in _find_compared(node, messages):
                    yield scope, expression

    def find_values(self, scope, name):
        """Yields the expressions that a name stands for, as (function, expression)."""
        if isinstance(name, ast.Attribute):
            yield from self._find_field_values(name.attr)
            return
        parameters = _get_parameters(scope)
        if name.id in parameters:
            yield from ((self.tree, value) for value in _get_column(scope, name.id))
            for call in self.calls:
                if isinstance(call.func, ast.Name) and call.func.id == scope.name:
                    for parameter, value in _name_arguments(call, parameters):
                        if parameter == name.id:
                            yield self._get_scope(call), value
            return
        for owner in (scope, self.tree):
            for node in _walk_scope(owner):
                if isinstance(node, ast.Assign) and any(
                    isinstance(target, ast.Name) and target.id == name.id for target in node.targets
                ):
                    yield owner, node.value
                elif isinstance(node, ast.For | ast.comprehension):
                    yield from ((owner, value) for value in _get_elements(node, name.id))

    def _find_field_values(self, name):
        """Yields the values of a field of test cases, as (function, expression)."""
        for case in self.tree.body:
            fields = [
                part.target.id
                for part in getattr(case, "body", ())
                if isinstance(case, ast.ClassDef) and isinstance(part, ast.AnnAssign)
            ]
            for call in self.calls if name in fields else ():
                if isinstance(call.func, ast.Name) and call.func.id == case.name:
                    yield from (
                        (self.tree, value)
                        for field, value in _name_arguments(call, fields)
                        if field == name
                    )

    def _get_scope(self, node):
        owners = [each for each in self.functions if node in ast.walk(each)]
        return owners[-1] if owners else self.tree


def _name_arguments(call, names):
    """Returns the pairs of the name and the expression of each argument."""
    return [
        *zip(names, call.args, strict=False),
        *((keyword.arg, keyword.value) for keyword in call.keywords),
    ]


def _walk_scope(scope):
    """Yields the nodes of a function, or of a module without its functions."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef):
            waiting += ast.iter_child_nodes(node)


def _get_parameters(scope):
    if not isinstance(scope, ast.FunctionDef):
        return []
    return [each.arg for each in (*scope.args.args, *scope.args.kwonlyargs)]


def _get_column(function, name):
    """Yields the values of an argument in the tables of `pytest.mark.parametrize`."""
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize"):
            target = ast.parse(ast.unparse(mark.args[0]), mode="eval").body
            names = [each.value for each in getattr(target, "elts", [target])]
            if isinstance(mark.args[0], ast.Constant):
                names = [each.strip() for each in mark.args[0].value.split(",")]
            yield from _get_cells(mark.args[1], names, name)


def _get_elements(loop, name):
    """Yields the values of a name of a loop over a literal."""
    targets = getattr(loop.target, "elts", [loop.target])
    yield from _get_cells(loop.iter, [ast.unparse(target) for target in targets], name)


def _get_cells(table, names, name):
    if name not in names:
        return
    for row in ast.walk(table) if isinstance(table, ast.List | ast.Tuple) else ():
        if len(names) == 1:
            yield table
            return
        if isinstance(row, ast.Call) and ast.unparse(row.func).endswith("param"):
            row = ast.Tuple(row.args)
        if isinstance(row, ast.Tuple) and len(row.elts) == len(names) and row is not table:
            yield row.elts[names.index(name)]


def _name_messages(nodes):
    """Returns the names of a function that contain a message."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.withitem) and "raises" in ast.unparse(node.context_expr):
            names.add(f"{ast.unparse(node.optional_vars)}.value" if node.optional_vars else "")
    while True:
        found = {
            target
            for node in nodes
            if isinstance(node, ast.Assign) and _is_message(node.value, names)
            for target in map(ast.unparse, node.targets)
        }
        if found <= names:
            return names
        names |= found


def _is_message(node, names):
    if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS:
        return True
    if isinstance(node, ast.Attribute) and node.attr in STREAMS:
        return True
    if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in names:
        return True
    return any(
        _is_message(child, names) for child in ast.iter_child_nodes(node)
    ) and not isinstance(node, ast.Constant)


def _find_compared(node, messages):
    if isinstance(node, ast.Call):
        function = ast.unparse(node.func)
        if function in ("pytest.raises", "pytest.warns"):
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "match")
        elif function.rpartition(".")[2] in CHECKS:
            yield from node.args[1:]
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "end")
        elif function.endswith((".startswith", ".endswith")) and _is_message(
            node.func.value, messages
        ):
            yield from node.args
    elif isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is):
        operands = [node.left, *node.comparators]
        if any(_is_message(operand, messages) for operand in operands):
            yield from (operand for operand in operands if not _is_message(operand, messages))
