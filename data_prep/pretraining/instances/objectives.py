"""The pre-training objectives: the sequences of a corpus, the tokens to predict, and labels of the sequences.

An objective defines the instances of a corpus (`pairs`, `crosses_documents`), the predicted tokens (`predicts_next`),
and the label features of a record and the label loss and metrics (`sentence_label`).
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Objective:
    """A pre-training objective, and its rules for extracting sequences from a corpus.

    Attributes:
      name: str. Name in settings.
      pairs: str or None. "random": [CLS] a [SEP] b [SEP], with b from another document half of the time. "swapped": the
        same, with a and b consecutive, and swapped half of the time. None: sequences of whole sentences.
      crosses_documents: bool. Whether a sequence of sentences continues in the next document, after a [SEP].
      sentence_label: str or None. Label of a sequence, and prefix of its features and losses: "next_sentence",
        "sentence_order", or None for no label.
      label_names: Tuple of str. Meanings of the labels 0 and 1, for messages.
      predicts_next: bool. Whether each token predicts the next one, without masks, instead of the masked LM.
    """

    name: str
    pairs: str | None = None
    crosses_documents: bool = False
    sentence_label: str | None = None
    label_names: tuple[str, str] = ("", "")
    predicts_next: bool = False

    @property
    def token_loss(self):
        """Name prefix of the loss and the accuracy of the predicted tokens."""
        return "next_token" if self.predicts_next else "masked_lm"

    @property
    def fewest_documents(self):
        """Minimum number of documents in a corpus."""
        return 2 if self.pairs == "random" else 1


OBJECTIVES = {objective.name: objective for objective in (
    Objective("sentence_pairs", "random", sentence_label="next_sentence", label_names=("actual next", "random next")),
    Objective("segment_pairs", "random"),
    Objective("left_to_right", "random", predicts_next=True),
    Objective("sentence_order", "swapped", sentence_label="sentence_order", label_names=("in order", "swapped")),
    Objective("full_sentences", crosses_documents=True),
    Objective("doc_sentences"),
)}
