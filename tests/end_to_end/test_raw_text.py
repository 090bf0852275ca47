"""Raw text in three languages: sentences, a vocabulary, records, pre-training, and filled masks."""

import random
import re

import pytest

from bert_tf.config import BertConfig
from tests import scripts
from tests.variants import mark_variants

pytestmark = pytest.mark.large

VOCAB_SIZES = {"en": 150, "ko": 100, "zh": 40}
LENGTHS = {"max_seq_length": 24, "max_predictions_per_seq": 4}
CAPITALS = {
    "en": {
        "France": "Paris",
        "Japan": "Tokyo",
        "Korea": "Seoul",
        "Egypt": "Cairo",
        "Peru": "Lima",
        "Cuba": "Havana",
    },
    "ko": {
        "프랑스": "파리",
        "일본": "도쿄",
        "한국": "서울",
        "이집트": "카이로",
        "페루": "리마",
        "쿠바": "아바나",
    },
    "zh": {
        "法国": "巴黎",
        "日本": "东京",
        "韩国": "首尔",
        "埃及": "开罗",
        "秘鲁": "利马",
        "古巴": "哈瓦那",
    },
}
SENTENCES = {  # The sentences of a paragraph about a country and its capital.
    "en": [
        "Dr. Lee lives in {city}.",
        "Is {city} the capital of {country}?",
        "Yes, it has been for 3.5 centuries!",
    ],
    "ko": [
        "{country}의 수도는 {city}입니다.",
        "{city}는 큰 도시입니까?",
        "네, 기온은 3.5도입니다!",
    ],
    "zh": ["{country}的首都是{city}。", "{city}是一座大城市吗？", "是的！"],
}
MASKED = {
    "en": "Is [MASK] the capital of France?",
    "ko": "한국의 수도는 [MASK]입니다.",
    "zh": "日本的首都是[MASK]京。",
}


def write_raw_text(folder, language):
    """Writes raw/a.txt; returns its 20 documents, lists of paragraphs, which are lists of str."""
    generator = random.Random(1)
    space = "" if language == "zh" else " "
    documents = [
        [
            [sentence.format(country=country, city=city) for sentence in SENTENCES[language]]
            for country, city in generator.sample(sorted(CAPITALS[language].items()), 3)
        ]
        for _ in range(20)
    ]
    (folder / "raw").mkdir()
    (folder / "raw" / "a.txt").write_text(
        "\n\n".join(
            "\n".join(space.join(paragraph) for paragraph in document) for document in documents
        )
    )
    return documents


def pretrain(folder):
    """Writes records of the sentences, and pretrained/ after four steps."""
    output = scripts.succeed(
        "data_prep.create_pretraining_data",
        folder,
        input_file="sentences",
        output_file="train.tfrecord",
        vocab_file="vocab.txt",
        dupe_factor=2,
        do_lower_case=False,
        **LENGTHS,
    )
    assert re.match(
        r"read     20 documents, 180 sentences, [\d,]+ tokens \(0\.00% \[UNK\]\)", output
    )
    scripts.succeed(
        "run.run_pretraining",
        folder,
        bert_config_file="bert_config.json",
        input_file="train.tfrecord",
        output_dir="pretrained",
        do_train=True,
        train_batch_size=8,
        num_train_steps=4,
        num_warmup_steps=1,
        vocab_file="vocab.txt",
        **LENGTHS,
    )


@pytest.mark.parametrize("language", mark_variants(["en", "ko", "zh"], "en"))
def test_raw_text_to_filled_masks(tmp_path, language):
    documents = write_raw_text(tmp_path, language)
    output = scripts.succeed(
        "data_prep.split_sentences",
        tmp_path,
        input_file="raw",
        output_dir="sentences",
        language=language,
        num_output_shards=2,
    )
    assert "wrote    20 documents, 180 sentences, " in output
    lines = "".join(path.read_text() for path in sorted((tmp_path / "sentences").glob("*.txt")))
    assert lines == "".join("\n".join(map("\n".join, document)) + "\n\n" for document in documents)

    scripts.succeed(
        "data_prep.learn_vocab",
        tmp_path,
        input_file="sentences/*.txt",
        vocab_file="vocab.txt",
        vocab_size=VOCAB_SIZES[language],
        num_unused=0,
        do_lower_case=False,
    )
    entries = (tmp_path / "vocab.txt").read_text().splitlines()
    config = BertConfig(len(entries), 16, 1, 2, 24, max_position_embeddings=32, type_vocab_size=2)
    (tmp_path / "bert_config.json").write_text(config.to_json())
    pretrain(tmp_path)
    output = scripts.succeed(
        "run.fill_mask",
        tmp_path,
        init_checkpoint="pretrained",
        vocab_file="vocab.txt",
        do_lower_case=False,
        text=MASKED[language],
        top_k=3,
        max_seq_length=24,
    )
    predictions = re.findall(r"(\S+) 0\.\d+", output)
    assert len(predictions) == 3
    assert set(predictions) <= set(entries)
