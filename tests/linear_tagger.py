"""run.run_tagger with a short trace: taggers on frozen features have no LSTM, and a table of features has one kind."""

from run import run_tagger
from run.finetuning import frozen_model
from run.finetuning import frozen_table as table

KINDS = ("last",)


def shorten(set_attribute=setattr):
    """Shortens the taggers in this process; set_attribute: function that sets an attribute of a module."""
    set_attribute(frozen_model, "NUM_LAYERS", 0)
    set_attribute(table, "KINDS", KINDS)


if __name__ == "__main__":
    shorten()
    run_tagger.COMMAND.run()
