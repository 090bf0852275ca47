"""Lines say one thing: see `tests.code_form`."""

import pytest

from tests import code_form

LIMITS = {
    "tuple_copy": 2,  # Swaps, and compiled code, which numba requires to be in one form.
    "whole_message": 1,  # A message of TensorFlow that scripts pass on.
}
SENTENCE = "`a`=1: must be at least 2; set `b`"


@pytest.fixture(scope="module")
def findings():
    return code_form.find_all()


@pytest.mark.parametrize("form", code_form.FORMS)
def test_lines_say_one_thing(findings, form):
    lines = [f"{found.path}:{found.line}" for found in findings if found.form == form]
    assert len(lines) <= LIMITS.get(form, 0), f"{code_form.FORMS[form]}: {', '.join(lines)}"


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
        ("positional_table", "a = [(1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)]"),
        ("whole_message", f"pytest.raises(A, match='^{SENTENCE}$')"),
        ("whole_message", f"rejects('a', '{SENTENCE}')"),
        ("whole_message", f"def f():\n    assert '{SENTENCE}' in capsys.readouterr().err"),
        ("whole_message", f"rejects('a', end='{SENTENCE}')"),
        ("empty_part", "rejects('a', 'must be', 'b')"),
        ("empty_part", "Message(None, 'set the')"),
        ("empty_part", "check_message(a, 'b', '1')"),
        (
            "whole_message",
            f"def f():\n    with pytest.raises(A) as caught:\n        g()\n"
            f"    assert str(caught.value) == '{SENTENCE}'",
        ),
        (
            "whole_message",
            f"@pytest.mark.parametrize(('a', 'b'), [(1, '{SENTENCE}')])\n"
            "def f(a, b):\n    with pytest.raises(A, match=f'^{a}: {b}'):\n        g()",
        ),
        (
            "whole_message",
            "def f(a):\n    with pytest.raises(A, match=a):\n        g()\n"
            f"def h():\n    f('{SENTENCE}')",
        ),
    ],
)
def test_a_form_is_found(form, source):
    folder = "run" if form in ("undocumented", "other_note") else "tests"
    path = f"{folder}/a.py"
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
        "rejects('a', 'must be at least 2', 'set `b`', value=1)",
        "pytest.raises(A, match='must be at least 2.*set `b`, or omit both')",
        f"a = '{SENTENCE}'",
        "a = [(1, 2, 3), (1, 2, 3), (1, 2, 3), (1, 2, 3)]",
        "a = [B(c=1, d=2, e=3, f=4)] * 4",
    ],
)
def test_other_code_has_no_form(source):
    assert list(code_form.find_forms(source, "tests/a.py")) == []


def test_compiled_functions_and_those_that_they_call_are_found():
    sources = ("@compiled\ndef f(a):\n    return g(a)\ndef g(a):\n    return len(a)\n",)
    assert code_form.find_compiled(sources) == {"f", "g"}


def test_compiled_functions_are_exempt():
    source = "def f(a, b, c, d, e, f, g):\n    return 1, 2, 3"
    assert list(code_form.find_forms(source, "a.py", {"f"})) == []
