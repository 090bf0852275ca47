"""The commands of the comparison: text, vocabulary and records once, then pre-training and fine-tuning of each arm.

What is there is not made again, so that a comparison which was stopped goes on.
"""

import concurrent.futures
import dataclasses
import json
import os
import queue
import random
import subprocess
import sys

from benchmarks.objectives.arms import Arm
from benchmarks.pretraining_data import write_topics
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_text
from run.training import run_metadata

EVERY_HELD_OUT = 8  # one document of so many is not trained on
HELD_OUT_OBJECTIVES = ("doc_sentences", "segment_pairs")  # forms in which held-out text is predicted
DATA_SEED = 12345
SENTENCE = 64  # tokens, in fine-tuning
SETTINGS_FILE = "settings.json"  # with which alone a comparison goes on
CHANGEABLE = ("output_dir", "seeds", "arms", "jobs", "rounds")
WARM_UP = 0.1  # a share of the steps


def prepare(settings, config, arms):
    """Writes text, vocabulary, bert_config.json, records and SST-2's rows into the output folder."""
    os.makedirs(settings.output_dir, exist_ok=True)
    started_with = {name: value for name, value in dataclasses.asdict(settings).items() if name not in CHANGEABLE}
    run_metadata.check_started_with(settings.output_dir, settings.path(SETTINGS_FILE), started_with)
    _write(SETTINGS_FILE, settings, lambda: json.dumps(started_with, indent=1) + "\n")
    _write("config.json", settings, config.to_json)
    for text in ("train", "held_out"):
        _write(f"{text}.txt", settings, lambda text=text: _corpus(settings, text))
    vocabulary = settings.path("vocab.txt")
    if settings.vocab_file:
        _write("vocab.txt", settings, lambda: read_text(settings.vocab_file))
    if not os.path.exists(vocabulary):
        run("data_prep.learn_vocab", [f"--input_file={settings.path('train.txt')}", f"--vocab_file={vocabulary}",
                                      f"--vocab_size={config.vocab_size}"])
    for text, arm in [*(("train", arm) for arm in arms), *(("held_out", Arm(each)) for each in HELD_OUT_OBJECTIVES)]:
        records, passes = records_file(settings, text, arm), settings.dupe_factor if text == "train" else 1
        if not os.path.exists(records):
            run("data_prep.create_pretraining_data", [
                f"--input_file={settings.path(f'{text}.txt')}", f"--vocab_file={vocabulary}",
                f"--output_file={records}", *arm.record_flags(settings, passes)])
    if settings.sst2_dir:
        os.makedirs(settings.path("sst2"), exist_ok=True)
        for name, most in (("dev.tsv", None), ("train.tsv", settings.finetuning_rows)):
            _write(os.path.join("sst2", name), settings, lambda name=name, most=most: _rows(
                os.path.join(settings.sst2_dir, name), most))


def records_file(settings, text, arm):
    """Where the records of an arm are."""
    return settings.path(f"{text}-{arm.folder}.tfrecord")


def run_all(settings, config, arms):
    """Pre-trains and fine-tunes each arm with each seed, `settings.jobs` at a time, each on cores of its own."""
    available = sorted(os.sched_getaffinity(0))
    share = max(1, len(available) // settings.jobs)
    free = queue.SimpleQueue()
    for number in range(settings.jobs):
        free.put(available[number * share:(number + 1) * share] or available)

    def run_one(arm, seed):
        cores = free.get()
        os.sched_setaffinity(0, cores)  # of this thread, and of the processes that it starts
        try:
            for module, arguments in commands(settings, config, arm, seed):
                run(module, arguments)
        finally:
            free.put(cores)

    with concurrent.futures.ThreadPoolExecutor(settings.jobs) as pool:
        try:
            for done in [pool.submit(run_one, arm, seed) for arm in arms for seed in settings.seeds]:
                done.result()
        except BaseException:  # Ctrl-C too: no further one begins
            pool.shutdown(cancel_futures=True)
            raise


def commands(settings, config, arm, seed):
    """Yields (module, list of flags) of what is left to do for an arm and a seed."""
    steps, trained = arm.num_steps(settings, config), settings.path(f"{arm.folder}-{seed}")
    config_file = f"--bert_config_file={settings.path('config.json')}"
    if not os.path.exists(os.path.join(trained, f"ckpt-{steps}.index")):
        yield "run.run_pretraining", [
            config_file, f"--input_file={records_file(settings, 'train', arm)}", f"--output_dir={trained}",
            "--do_train", f"--num_train_steps={steps}", f"--num_warmup_steps={round(WARM_UP * steps)}",
            f"--learning_rate={settings.learning_rate}", f"--train_batch_size={settings.train_batch_size}",
            f"--mixed_precision={settings.mixed_precision}",
            f"--save_checkpoints_steps={-(-steps // settings.points)}", f"--keep_checkpoint_max={settings.points}",
            f"--random_seed={seed}", *arm.training_flags(settings),
            *([f"--init_checkpoint={settings.init_checkpoint}"] if settings.init_checkpoint else [])]
    tuned = f"{trained}-sst2"
    if settings.sst2_dir and not os.path.exists(os.path.join(tuned, "eval_results.txt")):
        yield "run.run_classifier", [
            "--task_name=own", "--text_a_column=sentence", "--label_column=label",
            f"--data_dir={settings.path('sst2')}", config_file,
            f"--vocab_file={settings.path('vocab.txt')}", f"--init_checkpoint={trained}", f"--output_dir={tuned}",
            f"--max_seq_length={min(SENTENCE, settings.max_seq_length)}", "--do_train", "--do_eval",
            "--train_batch_size=32", "--learning_rate=2e-4", f"--num_train_epochs={settings.finetuning_epochs}",
            f"--random_seed={seed}"]


def run(module, arguments):
    """Runs a script of this project; its output is shown if it fails."""
    print(" ".join(["python -m", module, *arguments]), flush=True)
    done = subprocess.run([sys.executable, "-m", module, *arguments], text=True, errors="replace", check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise InputError(f"python -m {module} ended with status {done.returncode}:\n{done.stdout[-2000:]}")


def _corpus(settings, name):
    """The documents of `name`, train or held_out: a sentence a line, an empty line between documents."""
    topics = settings.path("topics.txt")
    texts = [read_text(settings.text_file)] if settings.text_file else []
    documents = [document.strip() for text in [*texts, read_text(write_topics(topics))]
                 for document in text.split("\n\n") if document.strip()]
    return "\n\n".join(document for number, document in enumerate(documents)
                       if (number % EVERY_HELD_OUT == 0) == (name == "held_out")) + "\n"


def _rows(path, most):
    """A tab-separated file's header and `most` of its rows, drawn without replacement, or all for None."""
    header, *rows = read_text(path).splitlines() or [""]
    if not rows:
        raise InputError(f"{path}: holds no rows")
    if most is not None:
        rows = random.Random(DATA_SEED).sample(rows, min(most, len(rows)))
    return "\n".join([header, *rows]) + "\n"


def _write(name, settings, make_text):
    """Writes the text that `make_text` makes to a file of the output folder, unless it is there."""
    path = settings.path(name)
    if not os.path.exists(path):
        with new_file(path) as file:
            file.write(make_text())
