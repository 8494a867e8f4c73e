"""Reading of jobs in a notebook: what the objects say, and the curves that the manager keeps."""
