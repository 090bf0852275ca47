"""`make demo` with few steps, and its corpus."""

import pytest

from run.demo import steps, topics
from tests import scripts
from tests.errors import rejects


@pytest.mark.extra_large
@pytest.mark.timeout(300)  # It runs nine scripts.
def test_demo_replaces_an_earlier_one_and_reports_results_next_to_baselines(tmp_path):
    folder = tmp_path / "demo_output"
    steps.make_folder(str(folder))
    (folder / "of_an_earlier_demo").touch()
    output = scripts.succeed(
        "run.demo", output_dir=folder, num_train_steps=10, num_train_epochs=0.2
    )
    for module in (
        "data_prep.learn_vocab",
        "data_prep.create_pretraining_data",
        "run.run_pretraining",
        "run.fill_mask",
        "run.run_classifier",
        "run.export_saved_model",
        "run.predict",
    ):
        assert f"$ python -m {module} --" in output
    for row in ("masked LM loss", "next sentence accuracy", "chapter accuracy"):
        assert row in output
    assert output.count("(true: ") == steps.SERVED_SENTENCES
    assert not (folder / "of_an_earlier_demo").exists()


def test_demo_rejects_a_directory_with_other_files(tmp_path):
    (tmp_path / "thesis.txt").touch()
    with rejects(
        "output_dir", "contains files", "did not create", "choose another directory", value=tmp_path
    ):
        steps.make_folder(str(tmp_path))
    assert (tmp_path / "thesis.txt").exists()


def test_held_out_sentences_are_not_in_the_training_text():
    training, held_out = (
        [sentence for _, sentences in part for sentence in sentences]
        for part in topics.read_sections()
    )
    assert not set(training) & set(held_out)
    assert len(set(training + held_out)) == len(training) + len(held_out)
    assert 0.05 < len(held_out) / len(training) < 0.2


def test_sentences_exclude_headings_and_code():
    text = (
        'A heading\n*****\n\nOne sentence of a\nparagraph here.  "Another" one follows it.\n\n'
        "   >>> code(1, 2)\n\nToo short.\n"
    )
    assert topics.split_sentences(text) == [
        "One sentence of a paragraph here.",
        '"Another" one follows it.',
    ]
