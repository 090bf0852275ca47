"""Tables as text."""

from bert_tf.cli.tables import format_table


def test_columns_are_aligned():
    assert format_table(("a", "b"), [("long", "100")]) == "a       b\nlong  100"
    assert format_table(("a", "b", ""), [("long", "100", "x")], num_left=0) == "   a    b\nlong  100  x"
