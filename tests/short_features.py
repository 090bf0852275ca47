"""run.run_feature_based with a short trace: no LSTM, and a table of two choices of features."""

from run import run_feature_based
from run.feature_based import model, settings


def shorten(set_attribute=setattr):
    """Shortens models and tables in this process.

    Args:
      set_attribute: Function that sets an attribute of a module.
    """
    set_attribute(model, "NUM_LAYERS", 0)
    set_attribute(
        settings,
        "COMBINATIONS",
        {name: settings.COMBINATIONS[name] for name in ("embeddings", "last")},
    )


if __name__ == "__main__":
    shorten()
    run_feature_based.COMMAND.run()
