"""Converts the weights of a BERT checkpoint between formats.

  python -m run.convert_checkpoint --input=uncased_L-12_H-768_A-12 --output=bert_base_hf \\
      --format=huggingface

The script detects the input format: TF1 checkpoints of the original BERT, training checkpoints of
this project and of tf-models-official (Model Garden), or config.json with model.safetensors of
Hugging Face. The output directory contains:

  tf1, model_garden   bert_model.ckpt.*, bert_config.json
  huggingface         model.safetensors, config.json

It also contains vocab.txt, and the casing in tokenizer_config.json, if the input has them. A
fine-tuned model becomes the model class of transformers for its task, with its labels. Every tensor
keeps its exact values; optimizer state is omitted. A run with --lora_rank becomes a plain model
with merged adapters. Its input is the run's directory, or its initial checkpoint and --adapter with
its adapter, or one of PEFT. --max_position_embeddings extends the position embeddings.
"""

from bert_tf.cli import script
from run.inference.settings import ConversionSettings

COMMAND = script.Command(ConversionSettings(), "run.inference.convert")

if __name__ == "__main__":
    COMMAND.run()
