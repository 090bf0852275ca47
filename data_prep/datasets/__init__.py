"""Fine-tuning data: the formats of files, read as examples without a tokenizer.

The modules are about the files of classification datasets (`reader`), the published ones
(`published`) and your own (`own_data`), words with labels (`conll`), questions about a text
(`squad`), and multiple choice. They do not import TensorFlow. `data_prep.tasks` converts examples
to features. Formats are not divided by kinds of tasks, which share them: both classifiers and
predictions read tables.
"""
