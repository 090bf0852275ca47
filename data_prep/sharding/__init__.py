"""Shards of an output that is created from text: the division of the text, the manifest, and the runners.

Does not import TensorFlow, because worker processes import this package.
"""

from data_prep.sharding.settings import ShardSettings

__all__ = ["ShardSettings"]
