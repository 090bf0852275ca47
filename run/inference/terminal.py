"""The job of fill_mask and answer: predictions for texts from the terminal.

Does not import TensorFlow.
"""

import itertools

from bert_tf import files
from bert_tf.tasks import MaskedLM
from bert_tf.tasks.masked_lm.task import MASK
from run.inference import request_files
from run.inference.predict import open_requested_model


def run(settings):
    """Loads the model once and queries it.

    `settings`: FillMaskSettings or AnswerSettings, resolved.
    """
    if settings.task == MaskedLM.name:
        fill_masks(
            open_requested_model(settings.accept_pairs()),
            read_requests(settings.text),
            settings.top_k,
        )
    else:
        model = open_requested_model(settings)
        answer_questions(
            model, read_requests(settings.question), settings.read_context(), settings.top_k
        )


def read_requests(texts):
    """Yields the texts of a flag, or if there are none, the lines of standard input.

    Drops invalid UTF-8 bytes, as the tokenizer does, and a byte-order mark of standard input.
    """
    if texts:
        yield from map(request_files.drop_invalid_bytes, texts)
        return
    for line in files.LineDecoder().lines(files.open_standard_input(), "standard input"):
        yield line.rstrip("\r\n")


def fill_masks(model, texts, top_k):
    """Prints the candidates for each [MASK] of texts.

    For a pair, it also prints the probability that the second text follows.

    Args:
      model: LoadedModel of a masked LM.
      texts: Iterable of str. For a model of pairs, those with a separator are pairs.
      top_k: int. Candidates per [MASK].
    """
    for text in texts:
        print(text)
        if MASK not in text:  # The next line may be valid.
            print(f"  --text={text}: must contain {MASK}")
            continue
        text_a, text_b = request_files.split_pair(text) if len(model.inputs) > 1 else (text, None)
        outputs = model(
            **{
                name: [each]
                for name, each in zip(model.inputs, (text_a, text_b or ""), strict=False)
            }
        )
        for mask in range(outputs["num_masks"][0]):
            candidates = zip(
                outputs["pieces"][0, mask], outputs["probabilities"][0, mask], strict=True
            )
            print(
                "  "
                + "   ".join(
                    f"{piece.decode()} {probability:.3f}"
                    for piece, probability in itertools.islice(candidates, top_k)
                )
            )
        if "is_next" in outputs and text_b:
            print(f"  IsNext {outputs['is_next'][0]:.3f}")
        if outputs["was_cut"][0]:
            print(
                f"  the text exceeds {model.limit} tokens and was truncated, possibly including a "
                f"{MASK}"
            )


def answer_questions(model, questions, context, top_k):
    """Prints the answers to each of `questions` about `context`."""
    for question in questions:
        print(question)
        outputs = model(question=[question], context=[context])
        text, start, end = (outputs[name][0] for name in ("answer", "start", "end"))
        print(f"  {text.decode()}  [{start}:{end}]" if end else "  no answer")
        candidates = [
            (candidate, score)
            for candidate, score in zip(outputs["answers"][0], outputs["scores"][0], strict=True)
            if candidate
        ]
        for candidate, score in candidates[:top_k]:
            print(f"  {score:8.3f}  {candidate.decode()}")
        if outputs["was_cut"][0]:
            print(f"  the question or the context exceeds {model.limit} tokens and was truncated")
