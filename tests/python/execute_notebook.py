"""Executes a notebook, and prints what its cells show as one line of JSON."""

import json
import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()

def shown(output):
    return {"text/plain": "\n".join(output.traceback)} if output.output_type == "error" else output.get("data", {})


print(json.dumps([[shown(output) for output in cell.outputs] for cell in notebook.cells]))
