"""Sentences of commands, in the words of the page."""

from __future__ import annotations

import pytest

from uvast.errors import LabelError, UnknownVideoError
from uvast.exchange.names import match_videos
from uvast.web.page_words import in_page_words


@pytest.mark.parametrize(
    ("name", "videos", "kind"),
    [
        ("lunch", ["dinner", "supper"], UnknownVideoError),
        ("launch", ["lunch"], UnknownVideoError),
        ("LUNCH", ["Lunch", "LUnch"], LabelError),
    ],
    ids=["unlike any", "like one", "ambiguous"],
)
def test_a_name_without_a_video_is_chosen_in_a_field(name, videos, kind):
    with pytest.raises(kind) as error, in_page_words():
        match_videos([name], videos)
    assert str(error.value).endswith("choose it under 'Video'")
    assert "--" not in str(error.value)
