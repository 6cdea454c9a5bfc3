"""What to segment: the sentence of a folder that holds nothing."""

from __future__ import annotations

import pytest

from uvast.errors import InputError
from uvast.inference.inputs import find_sources


def test_a_folder_without_features_is_said_to_hold_none(tmp_path):
    sentence = f"^{tmp_path}: holds no .npy files; name a folder of feature files or a dataset$"
    with pytest.raises(InputError, match=sentence):
        find_sources([tmp_path], n_features=6, sampling_rate=1)
