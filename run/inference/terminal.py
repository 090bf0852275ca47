"""Texts from the terminal, answers into it, by any ServedModel: what fill_mask and answer do. Free of TensorFlow."""

import itertools
import sys

from bert_tf.tasks import MaskedLM
from bert_tf.tasks.masked_lm import MASK
from run.inference import served_models
from run.inference.served_settings import LATENCY_CALLS


def run(settings):
    """Loads the model once and answers, as resolved FillMaskSettings or AnswerSettings say."""
    model = served_models.load(settings)
    if settings.task == MaskedLM.name:
        fill_masks(model, settings.texts or lines(), settings.top_k)
    else:
        answer_questions(model, settings.questions or lines(), settings.read_context(), settings.top_k)
    if settings.export.latency:
        report_latency(model)


def lines():
    """Yields the lines of standard input; bytes that are not UTF-8 are dropped, as the tokenizer drops them."""
    sys.stdin.reconfigure(errors="ignore")
    for line in sys.stdin:
        yield line.rstrip("\n")


def fill_masks(model, texts, top_k):
    """Prints what a masked LM, a ServedModel, would put for each [MASK] of each of `texts`."""
    for text in texts:
        print(text)
        if MASK not in text:  # the next line may be better
            print(f"  --text={text}: has no {MASK}")
            continue
        answer = model(text=[text])
        for mask in range(answer["num_masks"][0]):
            candidates = zip(answer["pieces"][0, mask], answer["probabilities"][0, mask], strict=True)
            print("  " + "   ".join(f"{piece.decode()} {probability:.3f}"
                                    for piece, probability in itertools.islice(candidates, top_k)))
        if answer["was_cut"][0]:
            print(f"  the text was cut, and perhaps a {MASK} with it: {model.limit} allows fewer pieces")


def answer_questions(model, questions, context, top_k):
    """Prints what a span labeler, a ServedModel, answers to each of `questions` about `context`."""
    for question in questions:
        print(question)
        answer = model(question=[question], context=[context])
        text, start, end = (answer[name][0] for name in ("answer", "start", "end"))
        print(f"  {text.decode()}  [{start}:{end}]" if end else "  no answer")
        shown = [(candidate, score) for candidate, score in zip(answer["answers"][0], answer["scores"][0], strict=True)
                 if candidate]
        for candidate, score in shown[:top_k]:
            print(f"  {score:8.3f}  {candidate.decode()}")
        if answer["was_cut"][0]:
            print(f"  the question or the context is longer than {model.limit} allows, and was cut")


def report_latency(model):
    """Prints how long an answer takes, if there was a question."""
    seconds = model.latency()
    if seconds is not None:
        print(f"an answer takes {seconds * 1000:.1f} ms (median of {LATENCY_CALLS})")
