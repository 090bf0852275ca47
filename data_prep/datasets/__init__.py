"""Fine-tuning data: the formats of files, read as examples without a tokenizer.

The modules are about the files of classification datasets (`reader`), the published ones
(`published`) and your own (`own_data`), words with labels (`conll`), questions about a text
(`squad`), and multiple choice. They do not import TensorFlow.
"""
