"""Lines say one thing: see `tests.code_form`."""

import pytest

from tests import code_form

# Swaps, and compiled code, which numba requires to be in one form.
LIMITS = {"tuple_copy": 2}


@pytest.fixture(scope="module")
def findings():
    return code_form.find_all()


@pytest.mark.parametrize("form", code_form.FORMS)
def test_lines_say_one_thing(findings, form):
    places = [f"{found.path}:{found.line}" for found in findings if found.form == form]
    assert len(places) <= LIMITS.get(form, 0), f"{code_form.FORMS[form]}: {', '.join(places)}"


@pytest.mark.parametrize(
    ("form", "source"),
    [
        ("tuple_copy", "a, b = 1, 2"),
        ("nested_condition", "a = 1 if b else 2 if c else 3"),
        ("text_times_flag", "a = ' (cut)' * (b > 1)"),
        ("text_times_flag", "a = (f'{b}' + ', ') * (not b or c)"),
        ("text_times_flag", "a = ['b'] * is_known"),
        ("text_times_flag", "a = 'b' * bool(c)"),
        ("returned_tuple", "def f():\n    return 1, 2, 3"),
        ("parameters", "def f(a, b, c, d, e, f, g):\n    pass"),
        ("long_function", "def f():\n" + "    pass\n" * 60),
        ("nested_walrus", "f(a=(b := 1))"),
        ("locals_as_options", "f(**locals())"),
        ("raise_in_first_round", "for a in b:\n    raise ValueError(a)"),
        ("summary", "def f():\n    '''One\n    two.'''"),
        ("undocumented", "def f():\n    pass"),
        ("undocumented", "class A:\n    def f(self):\n        pass"),
        ("other_note", "print(a, file=sys.stderr)"),
        ("other_note", "sys.stderr.write(a)"),
        ("other_note", "warnings.warn(a)"),
        ("other_note", "logging.warning(a)"),
    ],
)
def test_a_form_is_found(form, source):
    path = "run/a.py" if form in ("undocumented", "other_note") else "a.py"
    assert {found.form for found in code_form.find_forms(source, path)} == {form}


@pytest.mark.parametrize(
    "source",
    [
        "a = 1",
        "a = '=' * 80",
        "a = (0,) * count",
        "def f(self, a, b, c, d, e, f, *, g):\n    return a, b",
        "def f():\n" + "    pass\n" * 59,
        "def f():\n    '''One.\n\n    Two.'''",
        "for a in b:\n    if a:\n        raise ValueError(a)",
    ],
)
def test_other_code_has_no_form(source):
    assert list(code_form.find_forms(source, "a.py")) == []


def test_compiled_functions_and_those_that_they_call_are_found():
    sources = ("@compiled\ndef f(a):\n    return g(a)\ndef g(a):\n    return len(a)\n",)
    assert code_form.find_compiled(sources) == {"f", "g"}


def test_compiled_functions_are_exempt():
    source = "def f(a, b, c, d, e, f, g):\n    return 1, 2, 3"
    assert list(code_form.find_forms(source, "a.py", {"f"})) == []
