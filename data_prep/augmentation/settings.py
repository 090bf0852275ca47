"""The settings of augment_data. Does not import TensorFlow, because the script defines its flags from them."""

import dataclasses

from bert_tf.cli import places
from bert_tf.cli.settings import LARGEST_SEED, Settings, setting
from bert_tf.errors import InputError
from data_prep.tasks import tables
from data_prep.tasks.glue import find_task

NO_STOP_WORDS, ENGLISH = STOP_WORDS = ("none", "english")


@dataclasses.dataclass(frozen=True)
class AugmentationSettings(Settings):
    """Settings for the texts to copy and the replacement of their words."""

    input_file: str | None = setting(None, "Table of examples with a header: TSV, or CSV where it is named *.csv.",
                                      required=True, place=places.INPUT_FILE)
    output_file: str | None = setting(
        None, "The table to write, of the same form: each row of the input, and its copies after it.", required=True,
        place=places.OUTPUT_FILE)
    task_name: str | None = setting(
        None, "A published task, as mrpc or sst-2, whose training file the input is: says where its texts are.")
    text_columns: tuple[str, ...] = setting(
        (), "The columns of the texts, one or two names of the header; in place of `task_name`.", not_with="task_name")
    init_checkpoint: str | None = setting(
        None, "A pre-trained BERT: folder, prefix or file. Its masked LM proposes words, and its word table.",
        required=True, place=places.MODEL)
    bert_config_file: str | None = setting(None, "bert_config.json; that beside the checkpoint unless given.",
                                            place=places.MODEL)
    vocab_file: str | None = setting(None, "Vocabulary of the checkpoint; that beside it unless given.",
                                      place=places.INPUT_FILE)
    do_lower_case: bool | None = setting(
        None, "Whether the tokenizer lower-cases; what lies beside the checkpoint says so unless given, else true.")
    copies: int = setting(20, "Copies of each row; equal ones are left out.", lower=1, upper=1000)
    replace_probability: float = setting(0.4, "Probability of a word to be replaced in a copy.", lower=1e-6, upper=1.0)
    num_candidates: int = setting(15, "Words that are proposed for each, all equally likely.", lower=1, upper=1000)
    masked_lm: bool = setting(
        True, "Whether the masked LM proposes what stands in for words of one piece; else, and for words of several "
              "pieces, the nearest entries of the word table do.")
    stop_words: str = setting(
        ENGLISH, "Words that are never replaced: scikit-learn's list of English ones, or none.", choices=STOP_WORDS)
    max_seq_length: int = setting(
        128, "Most pieces that the masked LM sees at once; of a longer text those around the word.", lower=8)
    batch_size: int = setting(64, "Words that the masked LM proposes for at once.", lower=1)
    random_seed: int = setting(12345, "Seed of the replacements: the same input, seed and model give the same file.",
                               most=LARGEST_SEED)

    def check(self):
        """See Settings."""
        if len(self.text_columns) > 2:
            raise InputError(f"`text_columns`={','.join(self.text_columns)}: an example has one text or two")

    def check_files(self):
        """See Settings."""
        if self.output_file.lower().endswith(".csv") != self.input_file.lower().endswith(".csv"):
            raise InputError(f"`output_file`={self.output_file}: must end as `input_file`={self.input_file} does: both "
                             "are .csv, or none is")

    @property
    def has_header(self):
        """True if the first row of the input names its columns. In CoLA's training file, it does not."""
        return not self.task_name or find_task(self.task_name).splits["train"].header

    def text_positions(self, header):
        """Returns the 0-based positions of the texts in a row, one or two; header: fields of the first row.

        Raises:
          InputError: If no setting specifies the texts, or if a column or a published task does not exist.
        """
        if self.text_columns:
            return [tables.position(column, header, self.input_file) for column in self.text_columns]
        if not self.task_name:
            raise InputError("nothing says where the texts are: give `text_columns`, names of "
                             f"{', '.join(header)}, or `task_name`")
        split = find_task(self.task_name).splits["train"]
        return [column for column in (split.text_a, split.text_b) if column is not None]
