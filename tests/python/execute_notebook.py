"""Executes a notebook, and prints what its cells show as one line of JSON."""

import json
import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
print(json.dumps([[output.get("data", {}) for output in cell.outputs] for cell in notebook.cells]))
