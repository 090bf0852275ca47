"""The complete pipeline on real text: `python -m run.demo --output_dir=FOLDER`."""
