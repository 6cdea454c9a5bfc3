"""Class names and ids."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.errors import InputError, LabelError
from uvast.vocabulary import Vocabulary

NAMES = ("take", "open", "background")
classes = Vocabulary(NAMES, ("background",))


@given(st.lists(st.sampled_from(NAMES)))
def test_names_to_ids_and_back(names):
    ids = classes.encode(names)
    assert ids.dtype == np.int64
    assert list(classes.decode(ids)) == names
    assert ids.tolist() == [classes.id_of(name) for name in names]


def test_ids_are_places_and_special_tokens_follow():
    assert classes.encode(NAMES).tolist() == [0, 1, 2]
    assert (len(classes), classes.eos, classes.sos) == (3, 3, 4)
    assert classes.background_ids == (2,)
    assert Vocabulary(NAMES).background_ids == ()
    assert pickle.loads(pickle.dumps(classes)) == classes


def test_an_unknown_label_is_named_with_its_file_and_line():
    with pytest.raises(LabelError) as caught:
        classes.encode(["take", "tkae", "opne"], where="videos/a.txt")
    assert str(caught.value) == (
        "videos/a.txt, line 2: unknown label 'tkae'; "
        "correct it or add it to a mapping.txt of all classes (known: take, open, background)"
    )
    with pytest.raises(LabelError, match=r"^unknown label 'tkae'; "):
        classes.encode(["tkae"])
    with pytest.raises(LabelError, match=r"^here: unknown label 'stir'; "):
        classes.id_of("stir", where="here")


def test_a_sentence_stays_readable():
    many = Vocabulary(tuple(f"class{i}" for i in range(40)))
    with pytest.raises(LabelError) as caught:
        many.encode(["x" * 5000])
    assert len(str(caught.value)) < 300
    assert "class11, …)" in str(caught.value)


@pytest.mark.parametrize("index", [-1, 3])
def test_an_id_that_is_no_class(index):
    with pytest.raises(InputError, match=f"class id {index} is not in 0 to 2"):
        classes.decode([0, index])


@pytest.mark.parametrize(
    ("names", "background", "sentence"),
    [
        ((), (), "a vocabulary needs at least one class"),
        (("b", "a", "b", "a"), (), "class names occur more than once: a, b"),
        (("a",), ("SIL",), "background names classes that do not exist: SIL; choose from a"),
    ],
)
def test_vocabularies_that_cannot_be(names, background, sentence):
    with pytest.raises(InputError, match=sentence):
        Vocabulary(names, background)
