"""What a pruning came to, as text and as `pruning.json`."""

from run.compression.pruning.selection import flops

REPORT_FILE = "pruning.json"


def entry(config, scores, whole, length):
    """What there is to say of a model: dict that JSON can hold.

    Args:
      config: its BertConfig.
      scores: dict of name -> float.
      whole: BertConfig of the model before pruning.
      length: of a text in pieces, by which operations are counted.
    """
    operations = flops(config, length)
    return {"heads": [heads for heads, _ in config.layer_sizes],
            "neurons": [neurons for _, neurons in config.layer_sizes],
            "vocab_size": config.vocab_size, "embedding_size": config.embedding_size or config.hidden_size,
            "parameters": config.num_parameters, "flops": operations, "flops_share": operations / flops(whole, length),
            "scores": {name: float(value) for name, value in scores.items()}}


def as_text(entries, metric):
    """A table: a line for each model, the whole one first.

    Args:
      entries: of `entry`, for the whole model and each round.
      metric: name of a score.
    """
    lines = [f"{'round':>5}  {'heads':>9}  {'neurons':>13}  {'parameters':>11}  {'FLOPs':>6}  {metric}"]
    first = entries[0]
    for number, each in enumerate(entries):
        heads, neurons = (f"{sum(each[name])} of {sum(first[name])}" for name in ("heads", "neurons"))
        lines.append(f"{number or '-':>5}  {heads:>9}  {neurons:>13}  {each['parameters']:>11,}  "
                     f"{each['flops_share']:>6.3f}  {each['scores'][metric]:.4f}")
    last = entries[-1]
    lines.append(f"heads of each layer: {' '.join(map(str, last['heads']))}")
    lines.append(f"neurons of each layer: {' '.join(map(str, last['neurons']))}")
    return "\n".join(lines)
