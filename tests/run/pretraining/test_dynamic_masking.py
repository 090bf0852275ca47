import csv
import pydoc_data.topics

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.tokenization import BertTokenizer
from data_prep import records
from data_prep.pretraining import InstanceSettings, local_runner
from data_prep.pretraining.instances import masking, sampling
from run.pretraining import dynamic_masking, inputs, record_checks
from run.pretraining.settings import RecordSettings
from tests import scripts

S, P, V = 64, 12, 31
CLS, SEP, MASK, CONTINUATIONS = 1, 2, 3, range(24, V)
VOCABULARY = masking.Vocabulary(V, CLS, SEP, MASK, np.arange(V) >= 24)
SPLITMIX64 = [6457827717110365317, 3203168211198807973, 9817491932198370423]  # published output for seed 1234567
SEED = 7


def make_pairs(count, lengths, seed=3, lowest=4):
    """Unmasked records of `lengths`; pieces are `lowest` to 30, of which the last seven go on with a word."""
    generator = np.random.default_rng(seed)
    lengths = np.broadcast_to(lengths, count)
    places = np.arange(S)
    is_real = places < lengths[:, np.newaxis]
    ids = np.where(is_real, generator.integers(lowest, V, (count, S)), 0)
    middles = generator.integers(2, lengths - 2)
    ids[:, 0] = CLS
    ids[np.arange(count), middles] = ids[np.arange(count), lengths - 1] = SEP
    return {"input_ids": ids.astype(np.int32), "input_mask": is_real.astype(np.int32),
            "segment_ids": (is_real & (places > middles[:, np.newaxis])).astype(np.int32),
            "next_sentence_labels": generator.integers(0, 2, (count, 1)).astype(np.int32)}


def mask(pairs, epochs=0, numbers=None, seed=SEED, batch=None, **settings):
    """Masks records in a graph, `batch` at a time; dict of arrays."""
    count = len(pairs["input_ids"])
    numbers = np.arange(count) if numbers is None else numbers
    settings = InstanceSettings(max_seq_length=S, **{"max_predictions_per_seq": P, **settings})
    data = tf.data.Dataset.from_tensor_slices(
        (pairs, np.broadcast_to(epochs, count).astype(np.int64), np.asarray(numbers, np.int64)))
    masker = dynamic_masking.make_masker(settings, VOCABULARY, seed)
    batches = [*data.batch(batch or count).map(masker).as_numpy_iterator()]
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def drawn(masked, row):
    """Positions that are real predictions of a record, a list."""
    return masked["masked_lm_positions"][row, masked["masked_lm_weights"][row] == 1].tolist()


@pytest.fixture(scope="module")
def pairs():
    return make_pairs(500, np.random.default_rng(1).integers(5, S + 1, 500))


@pytest.mark.parametrize("whole_words", [False, True])
def test_what_holds_of_every_record(pairs, whole_words):
    masked = mask(pairs, do_whole_word_mask=whole_words)
    assert {name: (value.shape, value.dtype) for name, value in masked.items() if name.startswith("masked")} == {
        "masked_lm_positions": ((500, P), np.int32), "masked_lm_ids": ((500, P), np.int32),
        "masked_lm_weights": ((500, P), np.float32)}
    for name in ("input_mask", "segment_ids", "next_sentence_labels"):
        np.testing.assert_array_equal(masked[name], pairs[name])
    restored = masked["input_ids"].copy()
    for row, length in enumerate(pairs["input_mask"].sum(axis=1)):
        positions = drawn(masked, row)
        ids = masked["masked_lm_ids"][row]
        wanted = min(P, max(1, round(length * 0.15)))
        assert len(positions) <= wanted
        if not whole_words:
            assert len(positions) == wanted
        assert positions == sorted(set(positions))
        assert max(positions, default=0) < length  # none in the padding
        assert not set(ids[:len(positions)]) & {0, CLS, SEP}
        np.testing.assert_array_equal(masked["masked_lm_weights"][row], np.arange(P) < len(positions))
        assert not ids[len(positions):].any()
        assert not masked["masked_lm_positions"][row, len(positions):].any()
        restored[row, positions] = ids[:len(positions)]
    np.testing.assert_array_equal(restored, pairs["input_ids"])


def splitmix(state, index):
    """Item `index`, from 0, of the sequence of a state, in Python's integers."""
    value = (state + (index + 1) * 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def test_draws_are_splitmix64():
    assert [splitmix(1234567, index) for index in range(3)] == SPLITMIX64
    draws = dynamic_masking._Draws(SEED, tf.constant([5], tf.int64), tf.constant([11], tf.int64))
    state = 0
    for number in (SEED, 5, 11):
        state = splitmix((state + number - 0x9E3779B97F4A7C15) % 2**64, 0)  # the mixer alone
    for num_bits in (32, 62):
        assert draws.bits(tf.constant([[0, 6]]), num_bits).numpy().tolist() == [
            [splitmix(state, index) >> 64 - num_bits for index in (0, 6)]]


@pytest.mark.parametrize(("whole_words", "probability", "most"), [
    (False, 0.15, P), (True, 0.15, P), (True, 0.3, 40), (True, 1.0, 80), (False, 1.0, 80), (True, 0.01, 5)])
def test_positions_are_those_of_the_record_maker(monkeypatch, pairs, whole_words, probability, most):
    """With the words in the order of our draws, what draws those of records takes the same positions."""
    assert_positions_of_the_record_maker(monkeypatch, pairs, whole_words, probability, most)


@pytest.mark.parametrize(("lowest", "most"), [(22, P), (22, 3), (23, 30)])
def test_where_words_are_long_more_than_the_first_pieces_are_looked_at(monkeypatch, lowest, most):
    """Of two or one in eight pieces words begin, so that few fit in what is left."""
    tried = []
    take_words = dynamic_masking._take_words
    monkeypatch.setattr(dynamic_masking, "_take_words", lambda sizes, *others: (
        tried.append(sizes.shape[1]), take_words(sizes, *others))[1])
    assert_positions_of_the_record_maker(monkeypatch, make_pairs(500, S, lowest=lowest), True, 0.15, most)
    assert tried == [most + 16, S]


def assert_positions_of_the_record_maker(monkeypatch, pairs, whole_words, probability, most):
    masked = mask(pairs, masked_lm_prob=probability, max_predictions_per_seq=most, do_whole_word_mask=whole_words)
    draws = dynamic_masking._Draws(SEED, tf.zeros([500], tf.int64), tf.range(500, dtype=tf.int64))
    keys = draws.bits(tf.range(1, S)[tf.newaxis], 62).numpy()
    numbers = [masking.number_to_predict(length, probability, most) for length in range(S + 1)]
    rules = sampling.Rules(S - 3, 0.1, False, numbers, whole_words, MASK, V - 1)
    monkeypatch.setattr(sampling, "random_fraction", lambda state: 0.0)  # [MASK] for all tokens
    monkeypatch.setattr(sampling, "shuffle", order_words)
    for row, ids in enumerate(pairs["input_ids"]):
        length = pairs["input_mask"][row].sum()
        middle = ids.tolist().index(SEP)
        buffers = sampling.InstanceBuffers(*(np.zeros(S + 1, np.int64) for _ in range(7)))
        buffers.word_starts[:] = range(S + 1)
        buffers.parts[:4] = 1, middle, middle + 1, length - 1
        count = sampling.sample_masks(keys[row], 0, 2, sampling.Text([], [], [], np.isin(ids, CONTINUATIONS)), rules,
                                      buffers, 0)
        assert drawn(masked, row) == sorted(buffers.mask_positions[:count])


def order_words(keys, words, count):
    """Puts words into the order of their keys, instead of shuffling them."""
    words[:count] = np.argsort(keys[:count], kind="stable")


def test_words_that_do_not_fit_are_passed_over_again_and_again():
    # Room for 10: of words of 4, 5, 6, 2, 3, 1, 1 pieces, 4 and 5 fit, 6, 2 and 3 do not, 1 does, nothing more.
    sizes = [4, 5, 6, 2, 3, 1, 1]
    pieces = np.repeat(sizes, sizes)
    begins = np.concatenate([np.arange(size) == 0 for size in sizes])
    taken = dynamic_masking._take_words(
        tf.constant([[*pieces, 0], [*pieces, 0]]), tf.constant([[*begins, False]] * 2), tf.constant([10, 8])).numpy()
    assert pieces[taken[0, :-1]].tolist() == [4] * 4 + [5] * 5 + [1]
    assert pieces[taken[1, :-1]].tolist() == [4] * 4 + [2] * 2 + [1] * 2  # 8 = 4 + 2 + 1 + 1
    assert not taken[:, -1].any()


def test_masks_depend_on_seed_epoch_and_number_alone(pairs):
    whole = mask(pairs)
    for batch in (7, 128):
        parts = mask(pairs, batch=batch)
        for name in whole:
            np.testing.assert_array_equal(parts[name], whole[name])
    order = np.random.default_rng(2).permutation(500)
    shuffled = mask({name: value[order] for name, value in pairs.items()}, numbers=order)
    np.testing.assert_array_equal(shuffled["input_ids"], whole["input_ids"][order])
    # Two draws of about 5 of 32 positions hold the same by chance in few records.
    for other in (mask(pairs, epochs=1), mask(pairs, seed=SEED + 1), mask(pairs, numbers=np.arange(1, 501))):
        same = (other["masked_lm_positions"] == whole["masked_lm_positions"]).all(axis=1)
        assert same.mean() < 0.1
        assert (other["input_ids"] == whole["input_ids"]).mean() < 0.9  # not all alike where the masks are


@pytest.mark.parametrize("whole_words", [False, True])
def test_shares(whole_words):
    """40,000 records of one pair of 41 ids, 19 words of two pieces: 6 predictions each; five standard deviations."""
    count, length, number = 40_000, 41, 6
    pair = make_pairs(1, length)
    ids = pair["input_ids"][0]
    is_candidate = ids > SEP
    ids[is_candidate] = [5, 24] * 19
    masked = mask({name: np.repeat(value, count, axis=0) for name, value in pair.items()}, epochs=4, batch=1000,
                  do_whole_word_mask=whole_words)
    assert (masked["masked_lm_weights"].sum(axis=1) == number).all()
    positions, labels = masked["masked_lm_positions"][:, :number], masked["masked_lm_ids"][:, :number]
    inputs = np.take_along_axis(masked["input_ids"], positions, axis=1)

    def check(found, share, draws):
        np.testing.assert_allclose(found, share, atol=5 * np.sqrt(share * (1 - share) / draws))

    shares = np.bincount(positions.ravel(), minlength=S) / count
    check(shares[is_candidate], number / 38, count)
    assert not shares[~is_candidate].any()
    draws = inputs.size
    check(np.mean(inputs == MASK), 0.8 + 0.1 / V, draws)
    check(np.mean(inputs == labels), 0.1 + 0.1 / V, draws)
    for piece in {*range(V)} - {MASK, 5, 24}:  # any piece as often as any other, specials too
        check(np.mean(inputs == piece), 0.1 / V, draws)
    if whole_words:
        words = np.unique(labels.reshape(-1, 2), axis=0)
        assert words.tolist() == [[5, 24]]
        # Each piece has a draw of its own.
        check(np.mean((inputs == MASK).reshape(-1, 2).all(axis=1)), (0.8 + 0.1 / V)**2, draws / 2)


def test_pairs_of_positions_are_drawn_evenly():
    """Of 4 candidates 2 are taken: each of the 6 pairs in a sixth of 30,000 records; five standard deviations."""
    count = 30_000
    pair = make_pairs(1, 7)
    masked = mask({name: np.repeat(value, count, axis=0) for name, value in pair.items()}, masked_lm_prob=0.3)
    found, times = np.unique(masked["masked_lm_positions"][:, :2], axis=0, return_counts=True)
    assert len(found) == 6
    np.testing.assert_allclose(times / count, 1 / 6, atol=5 * np.sqrt(5 / 36 / count))


@pytest.fixture(scope="module")
def prepared(reference, tmp_path_factory):
    """A folder with a text, its unmasked records, written by the script, and a model's config."""
    folder = tmp_path_factory.mktemp("prepared")
    lines = [line for topic in pydoc_data.topics.topics.values() for line in topic.splitlines() if line.strip()]
    (folder / "text.txt").write_text("\n\n".join("\n".join(lines[start:start + 17]) for start in range(0, 680, 17)))
    (folder / "vocab.txt").write_bytes((reference / "text" / "vocab.txt").read_bytes())
    scripts.succeed("data_prep.create_pretraining_data", folder, input_file="text.txt", output_file="records.tfrecord",
                    vocab_file="vocab.txt", max_seq_length=S, masking="dynamic")
    vocab_size = len((folder / "vocab.txt").read_text().splitlines())
    (folder / "bert_config.json").write_text(
        BertConfig(vocab_size, 12, 1, 3, 28, max_position_embeddings=S, type_vocab_size=2).to_json())
    return folder


def test_disk_use_is_a_tenth_and_records_with_masks_are_refused(prepared):
    masked = str(prepared / "masked.tfrecord")
    local_runner.create_pretraining_data(
        [str(prepared / "text.txt")], [masked], BertTokenizer(str(prepared / "vocab.txt")),
        InstanceSettings(max_seq_length=S, max_predictions_per_seq=P), 12345)
    share = (prepared / "records.tfrecord").stat().st_size / (prepared / "masked.tfrecord").stat().st_size
    assert 0.05 < share < 0.1  # dupe_factor 1 in place of 10; and masks take room too

    unmasked = records.unmasked_pretraining_features(S)
    record_checks.check_pretraining_records([str(prepared / "records.tfrecord")], unmasked, {})
    with pytest.raises(ValueError, match=r"masked\.tfrecord: its records hold masks, and would be masked twice: give "
                                         "`masking`=static, or make records with `masking`=dynamic"):
        record_checks.check_pretraining_records([masked], unmasked, {})


def test_a_resumed_run_sees_the_same_masks_and_each_epoch_others(prepared):
    settings = InstanceSettings(max_seq_length=S, max_predictions_per_seq=P, masking="dynamic")
    vocabulary = masking.Vocabulary.of_tokenizer(BertTokenizer(str(prepared / "vocab.txt")))

    def read(steps, skip_steps=0):
        data = inputs.pretraining_training_data(
            [str(prepared / "records.tfrecord")], settings.features, 32, 1, skip_steps,
            transform=dynamic_masking.make_masker(settings, vocabulary, 1))
        return [*data.take(steps).as_numpy_iterator()]

    batches = read(40)
    for batch, again in zip(batches[23:], read(17, skip_steps=23), strict=True):
        for name in batch:
            np.testing.assert_array_equal(batch[name], again[name])
    masks = {}  # of each record, known by its ids without masks
    for batch in batches:
        ids = batch["input_ids"].copy()
        np.put_along_axis(ids, batch["masked_lm_positions"], np.where(
            batch["masked_lm_weights"] > 0, batch["masked_lm_ids"], vocabulary.cls_id), axis=1)
        for row, positions in zip(ids, batch["masked_lm_positions"], strict=True):
            masks.setdefault(row.tobytes(), []).append(positions.tobytes())
    epochs = [*map(len, masks.values())]
    assert sum(epochs) / len(epochs) > 3
    different = [*map(len, map(set, masks.values()))]
    assert sum(different) > 0.95 * sum(epochs)  # short records may draw the same twice


def test_two_trainings_give_the_same_losses(prepared):
    flags = {"bert_config_file": "bert_config.json", "input_file": "records.tfrecord", "do_train": True,
             "do_eval": True, "max_seq_length": S, "max_predictions_per_seq": P, "train_batch_size": 32,
             "num_train_steps": 30, "num_warmup_steps": 5, "learning_rate": 1e-3, "iterations_per_loop": 1,
             "save_checkpoints_steps": 30, "masking": "dynamic", "vocab_file": "vocab.txt", "do_whole_word_mask": True}
    losses, results = [], []
    for name in ("first", "second"):
        scripts.succeed("run.run_pretraining", prepared, output_dir=name, **flags)
        with open(prepared / name / "training_log.csv", newline="", encoding="utf-8") as file:
            losses.append([float(row["masked_lm_loss"]) for row in csv.DictReader(file)])
        results.append((prepared / name / "eval_results.txt").read_text())
    assert losses[0] == losses[1]
    assert results[0] == results[1]
    assert len(losses[0]) == 30
    assert np.mean(losses[0][-5:]) < np.mean(losses[0][:5])


def test_fewer_masks_than_asked_for_are_told():
    assert list(RecordSettings(masking="dynamic", masked_lm_prob=0.3).notes()) == [
        "note: --max_predictions_per_seq=20: a full record has no more masks, fewer than the 38 of "
        "--masked_lm_prob=0.3"]
    assert list(RecordSettings(masking="dynamic", masked_lm_prob=0.3, max_predictions_per_seq=39).notes()) == []
    assert list(RecordSettings(masking="dynamic").notes()) == []
    assert list(RecordSettings().notes()) == []
