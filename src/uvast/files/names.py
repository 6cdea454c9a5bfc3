"""Names of files and folders that several parts of uvast use."""

GROUND_TRUTH = "groundTruth"
"""The folder of a dataset's label files."""
MANIFEST = "segmentation.json"
"""The record of what `uvast segment` did, beside its predictions."""
RUN_FILE = "run.json"
"""What a run was made from: a folder that has this file is a run."""
