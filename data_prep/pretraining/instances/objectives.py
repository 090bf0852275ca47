"""The objectives of pre-training: what a sequence of a corpus is, and what is asked of it beside its masked pieces.

An objective is one thing: what instances a corpus gives (`pairs`, `crosses_documents`), what a record holds and what
the loss and the metrics are of (`sentence_label`).
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Objective:
    """What a model is pre-trained on beside masked pieces, and how sequences are cut out of a corpus.

    Attributes:
      name: as settings name it.
      pairs: "random": [CLS] a [SEP] b [SEP], where b comes from another document half of the time; "swapped": the same,
        where a and b are consecutive and have changed places half of the time; None: sequences of whole sentences.
      crosses_documents: whether a sequence of sentences goes on with the next document, after a [SEP].
      sentence_label: what is predicted of a whole sequence, and how the names of its features and losses begin:
        "next_sentence", "sentence_order" or None for nothing.
      label_names: what the labels 0 and 1 mean, in words.
    """

    name: str
    pairs: str | None = None
    crosses_documents: bool = False
    sentence_label: str | None = None
    label_names: tuple[str, str] = ("", "")

    @property
    def fewest_documents(self):
        """How many documents a corpus must have."""
        return 2 if self.pairs == "random" else 1


OBJECTIVES = {objective.name: objective for objective in (
    Objective("sentence_pairs", "random", sentence_label="next_sentence", label_names=("actual next", "random next")),
    Objective("segment_pairs", "random"),
    Objective("sentence_order", "swapped", sentence_label="sentence_order", label_names=("in order", "swapped")),
    Objective("full_sentences", crosses_documents=True),
    Objective("doc_sentences"),
)}
