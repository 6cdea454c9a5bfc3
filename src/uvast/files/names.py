"""Names of files and folders that several parts of uvast use, and when two names are alike."""

import unicodedata

GROUND_TRUTH = "groundTruth"
"""The folder of a dataset's label files."""
MANIFEST = "segmentation.json"
"""The record of what `uvast segment` did, beside its predictions."""
RUN_FILE = "run.json"
"""What a run was made from: a folder that has this file is a run."""


def case_folded(name: str) -> str:
    """What names that differ only in case have in common; macOS and Windows take them for one."""
    return unicodedata.normalize("NFC", name).casefold()
