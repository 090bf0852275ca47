"""The whole line on real text: `python -m run.demo --output_dir=FOLDER`."""
