"""The pages of docs/results: each module turns committed result files into Markdown."""
