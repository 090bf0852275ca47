"""What each task is told beside what all are told. Free of TensorFlow: scripts define their flags of it.

Each class has `kind`, the task's name in task.json.
"""

import dataclasses
from typing import ClassVar

from bert_tf.cli import places
from bert_tf.cli.settings import FIXED, FIXED_IF_USED, Settings, setting
from bert_tf.errors import InputError

WORDS_FILE = "File of a word a line, columns divided by tabs or spaces, sentences by empty lines"
XNLI_LANGUAGES = ("ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh")
TRAINS = "do_train without unlabeled_file"
OWN, XNLI = "task_name=own", "task_name=xnli"
QUESTIONS_PLACE = {"data_format=race": places.INPUT_PATH, None: places.INPUT_FILE}
QUESTIONS_FILE = "SWAG's CSV file; or, with --data_format=race, a JSON file or a folder of them"


@dataclasses.dataclass(frozen=True)
class ClassificationSettings(Settings):
    """Sentences or sentence pairs: GLUE, XNLI, or files of one's own."""

    kind: ClassVar[str] = "classifier"

    data_dir: str | None = setting(
        None, "Folder of the task's files (train.tsv, dev.tsv, ...; of one's own tasks train.csv too, where there is "
              "no train.tsv). Needed.", required=True, place=places.INPUT_FOLDER)
    task_name: str | None = setting(
        None, "cola, sst-2, mrpc, sts-b, qqp, mnli, mnli-mm, qnli, rte, wnli or xnli, whose files are read as "
              "published; or own, for files with a header. Needed.", required=True, resume=FIXED)
    text_a_column: str = setting("text", "With --task_name=own: the column of the text.", needs=OWN,
                                 resume=FIXED_IF_USED)
    text_b_column: str | None = setting(None, "With --task_name=own: the column of the second text, if any.", needs=OWN,
                                        resume=FIXED_IF_USED)
    label_column: str = setting("label", "With --task_name=own: the column of the label or number.", needs=OWN,
                                resume=FIXED_IF_USED)
    regression: bool = setting(False, "With --task_name=own: whether the label is a number.", needs=OWN,
                               resume=FIXED_IF_USED)
    label_separator: str | None = setting(
        None, "With --task_name=own: what stands between labels where a row may have several.", needs=OWN,
        not_with="regression", resume=FIXED_IF_USED)
    strict: bool = setting(
        False, "With --task_name=own: whether a label of the development data that training lacks is an error; else it "
               "counts as wrong.", needs=OWN)
    glue_submission: bool = setting(False, "With --do_predict: write the file that the GLUE server takes too.",
                                    needs="do_predict")
    xnli_language: str = setting(
        "zh", "With --task_name=xnli: language of the development and test data.", choices=XNLI_LANGUAGES,
        needs=XNLI, resume=FIXED_IF_USED)
    xnli_train_language: str | None = setting(
        None, "With --task_name=xnli: language of the training data, en to see what a multilingual model carries over "
              "to --xnli_language; unset means --xnli_language.", choices=XNLI_LANGUAGES, needs=XNLI,
        resume=FIXED_IF_USED)

    long_texts: str = setting(
        "cut", "cut: texts over --max_seq_length are cut, as in the original; windows: they are read whole, in windows "
               "of that length that overlap, whose logits are pooled, in training and in serving too. Of a pair the "
               "second text is.", choices=("cut", "windows"), resume=FIXED_IF_USED)
    window_stride: int | None = setting(
        None, "With --long_texts=windows: WordPieces between the starts of two windows of a text; unset means half of "
              "--max_seq_length.", lower=1, needs="long_texts=windows")
    max_windows: int = setting(
        8, "With --long_texts=windows: most windows of a text; what is longer is cut. They are in memory together.",
        lower=1, needs="long_texts=windows")
    window_pooling: str = setting(
        "mean", "With --long_texts=windows: the mean or the maximum of the windows' logits, label by label.",
        choices=("mean", "max"), needs="long_texts=windows")

    @property
    def xnli_languages(self):
        """Of evaluation and of training."""
        return self.xnli_language, self.xnli_train_language or self.xnli_language


@dataclasses.dataclass(frozen=True)
class TaggingSettings(Settings):
    """Words with a label each, in columns."""

    kind: ClassVar[str] = "token_classifier"

    train_file: str | None = setting(None, f"{WORDS_FILE}. Needed with --do_train.", required=TRAINS,
                                      place=places.INPUT_FILE)
    dev_file: str | None = setting(None, f"{WORDS_FILE}. Needed with --do_eval.", required="do_eval",
                                    place=places.INPUT_FILE)
    test_file: str | None = setting(None, f"{WORDS_FILE}. Needed with --do_predict.", required="do_predict",
                                     place=places.INPUT_FILE)
    token_column: int = setting(0, "Column of the word: 0 is the first, -1 the last.", resume=FIXED)
    label_column: int = setting(
        -1, "Column of the label, which --test_file need not have: entities in IOB1, IOB2 or IOBES, or any other "
            "labels.", resume=FIXED)
    strict: bool = setting(
        False, "Whether a label of the development data that training lacks is an error; else it counts as wrong.")
    document_context: bool = setting(
        False, "Whether inputs are windows of --max_seq_length over documents, which begin at rows -DOCSTART-, each "
               "word being trained and predicted in the one where it stands most inside; else an input is a sentence.",
        resume=FIXED)


@dataclasses.dataclass(frozen=True)
class MultipleChoiceSettings(Settings):
    """Questions with some choices each."""

    kind: ClassVar[str] = "multiple_choice"

    train_file: str | None = setting(None, f"{QUESTIONS_FILE}. Needed with --do_train.", required=TRAINS,
                                      place=QUESTIONS_PLACE)
    dev_file: str | None = setting(None, f"{QUESTIONS_FILE}. Needed with --do_eval.", required="do_eval",
                                    place=QUESTIONS_PLACE)
    test_file: str | None = setting(None, f"{QUESTIONS_FILE}. Needed with --do_predict.", required="do_predict",
                                     place=QUESTIONS_PLACE)
    data_format: str = setting(
        "swag", "swag: CSV with the columns sent1, sent2, ending0, ending1, ... and label; race: JSON files with the "
                "keys article, questions, options and answers.", choices=("swag", "race"), resume=FIXED)


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringSettings(Settings):
    """Questions about contexts: SQuAD and files in its form."""

    kind: ClassVar[str] = "span_labeler"

    train_file: str | None = setting(None, "SQuAD JSON to train on, such as train-v1.1.json. Needed to train.",
                                      required=TRAINS, place=places.INPUT_FILE)
    predict_file: str | None = setting(
        None, "SQuAD JSON to evaluate on and to answer, such as dev-v1.1.json or test-v1.1.json. Needed to evaluate "
              "and to predict.", required="do_eval or do_predict", place=places.INPUT_FILE)
    doc_stride: int = setting(128, "WordPieces between the starts of two windows of a long context.", lower=1,
                              resume=FIXED)
    max_query_length: int = setting(
        64, "Longest question in WordPieces; longer ones are cut. Less than --max_seq_length - 3.", lower=1,
        resume=FIXED)
    n_best_size: int = setting(
        20, "Starts and ends to try in each window, and answers a question in nbest_predictions.json.", lower=1)
    max_answer_length: int = setting(30, "Longest answer in WordPieces.", lower=1)
    version_2_with_negative: bool = setting(False, "Whether some questions have no answer, as in SQuAD 2.0.",
                                            resume=FIXED)
    null_score_diff_threshold: float = setting(
        0.0, "With --version_2_with_negative: a question has no answer if the score of none exceeds that of the best "
             "answer by more than this.", needs="version_2_with_negative", not_with="use_best_threshold")
    use_best_threshold: bool = setting(
        False, "Use the threshold with the best F1 on --predict_file instead of --null_score_diff_threshold; right for "
               "development data only.", needs="version_2_with_negative")
    answer_metric: str = setting(
        "squad", "squad: the official evaluation; korquad: KorQuAD's, whose F1 counts characters.",
        choices=("squad", "korquad"), not_with="version_2_with_negative")
    verbose_logging: bool = setting(False, "Say of every answer that could not be found in its context again.")


ALL = (ClassificationSettings, TaggingSettings, QuestionAnsweringSettings, MultipleChoiceSettings)
KINDS = tuple(each.kind for each in ALL)
DATA_OF_KIND = {"classifier": ("task_name", "data_dir"), "span_labeler": ("train_file", "predict_file"),
                "token_classifier": ("train_file", "dev_file", "test_file"),
                "multiple_choice": ("train_file", "dev_file", "test_file")}


def of_model(kind, kept, data, called="model"):
    """The settings of the task that a fine-tuned model is for.

    Args:
      kind: of the task.
      kept: dict of what the model's run was started with.
      data: dict of settings that name data -> value, None where it is not given; what is given counts more than kept.
      called: what the error calls the model.

    Raises:
      InputError: data of another task are given.
    """
    given = {name: value for name, value in data.items() if value is not None}
    other = next((name for name in given if name not in DATA_OF_KIND[kind]), None)
    if other:
        raise InputError(f"`{other}`={given[other]}: the {called} is a {kind}, whose data are named by "
                         f"{', '.join(f'`{name}`' for name in DATA_OF_KIND[kind])}")
    of_kind = next(each for each in ALL if each.kind == kind)
    # Of files that it was trained on, kept has a dict that tells them from others. It never says where to look.
    values = {name: value for name, value in kept.items()
              if not isinstance(value, dict) and name not in set(DATA_OF_KIND[kind]) - {"task_name"}} | given
    fields = {field.name: field for field in dataclasses.fields(of_kind)}
    names = [name for name in fields if name in values and (
        values.get("task_name") == "own" or OWN not in fields[name].metadata["needs"])]
    return of_kind(**{name: values[name] for name in names})
