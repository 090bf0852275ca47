"""Dialects of delimited tables, from their headers and first rows."""

import pytest

from data_prep.tables.dialects import find_dialect


@pytest.mark.parametrize(
    ("name", "sample", "expected"),
    [
        ("a.csv", "text,label\n", "comma"),
        ("a.csv", "text;label\n", "semicolon"),
        ("a.csv", '"a, b";label\n', "semicolon"),
        ("a.csv", "text\tlabel\na, b\t0\n", "tab"),
        ("a.CSV.gz", "text;label\n", "semicolon"),
        ("a.tsv", "text\tlabel\na\t0\n", "tab"),
        ("a.tsv", "text\na, b\nc\n", "tab"),
        ("a.tsv", "text,label\na,0\nb,1\n", "comma"),
        ("a.tsv", "text;label\na;0\nb;1\n", "semicolon"),
        ("a", 'text,label\n"a, b",0\n', "comma"),
        ("a.tsv", "text, or not\na, b, c\n", "tab"),
        # Quotes that a writer of quoted fields does not write are text, as in GLUE.
        ("a.tsv", 'text\tlabel\n"a ""b"""\t0\n', "quoted_tab"),
        ("a.tsv", 'text\tlabel\n"a ""b"""\t0\n"c" d\t1\n', "tab"),
        ("a.tsv", 'text\tlabel\n"a ""b"""\t0\n5" c\t1\n', "tab"),
        ("a.tsv", 'text\tlabel\n"a"\t0\n', "tab"),
        ("a.tsv", '"text"\t"label"\n"a"\t0\n', "quoted_tab"),
        ("a.tsv", 'text\tlabel\n"a\tb"\t0\n', "quoted_tab"),
        ("a.tsv", 'text\tlabel\n"a\nb"\t0\nc\t1\n', "quoted_tab"),
        ("a.tsv", 'text\tlabel\n"a ""b""\t0\nc\t1\n', "tab"),
    ],
)
def test_dialects(name, sample, expected):
    assert find_dialect(name, sample, is_complete=True).name == expected


@pytest.mark.parametrize("length", range(30, 60))
def test_a_sample_can_end_anywhere(length):
    """Also within a quoted field. The evidence is in the first row."""
    sample = 'text\tlabel\n"a ""b"""\t0\n"c\n""d"" e"\t1\n"f\tg"\t1\n'
    assert find_dialect("a.tsv", sample[:length], is_complete=False).name == "quoted_tab"
