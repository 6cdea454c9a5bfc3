"""Names of files and folders that several parts of uvast know."""

GROUND_TRUTH = "groundTruth"
"""The folder of a dataset's label files."""
MANIFEST = "segmentation.json"
"""What `uvast segment` did, beside its predictions."""
RUN_FILE = "run.json"
"""What a run was made from: a folder that has one is a run."""
