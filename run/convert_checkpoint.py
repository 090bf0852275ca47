"""Converts a BERT checkpoint of any origin into another format, weights only.

  python -m run.convert_checkpoint --input=uncased_L-12_H-768_A-12 --output=bert_base_hf --format=huggingface

The input is found out: the original's TF1 checkpoints, this project's training checkpoints, those of
tf-models-official (Model Garden), and Hugging Face's config.json with model.safetensors. The output is a folder:

  tf1, model_garden   bert_model.ckpt.*, bert_config.json
  huggingface         model.safetensors, config.json

and vocab.txt where there is one, for Hugging Face with tokenizer_config.json. A fine-tuned model becomes the model
class of transformers for its task, with its labels. Every tensor keeps its values exactly; optimizer state is left out.
A run with --lora_rank becomes a plain model, its adapters merged: from its folder, or from what it started from and the
small file that it left (--adapter). --max_position_embeddings extends the position table.
"""

from bert_tf.cli import script
from run.inference.settings import ConversionSettings

COMMAND = script.Command(ConversionSettings(), "run.inference.conversion")

if __name__ == "__main__":
    COMMAND.run()
