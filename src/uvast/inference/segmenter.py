"""`uvast.load(path).segment(features)`: a trained model, ready to use."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from uvast.config import Config, DecodeConfig, parse_run_config
from uvast.data import levelled
from uvast.devices import choose_device
from uvast.errors import FeatureError
from uvast.inference.decoder import Decoder
from uvast.inference.doubts import Doubts
from uvast.inference.encoded_videos import EncodedVideos, encoded_batch, frame_predictions
from uvast.inference.from_video import extracted
from uvast.inference.inputs import FeatureFile, video_of_array
from uvast.inference.member_priors import mean_priors
from uvast.inference.named_decodings import check_effect, parse_decode_setting
from uvast.inference.nan_outputs import outputs_are_nan
from uvast.inference.prediction import FramePrediction, Prediction
from uvast.inference.priors import Priors
from uvast.inference.temperature import tempered
from uvast.inference.views import averaged_frames, fine_cuts
from uvast.models.checkpoint import load_model, read_scaling
from uvast.models.ensemble import mean_probabilities, scalings_of
from uvast.models.protocols import as_frame_model
from uvast.proposals import segment_looks
from uvast.runs import checkpoint_path
from uvast.sampling import source_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from torch import nn

    from uvast.data import Scaling, Video
    from uvast.features import ExtractorRecord
    from uvast.inference.candidates import Candidates
    from uvast.inference.prediction import DecodedVideo
    from uvast.models.checkpoint import ModelCard
    from uvast.segments import Segmentation
    from uvast.vocabulary import Vocabulary


SEGMENTS_SEEN = 4096
"""Segments whose features are averaged at a time; noise has one in every few frames."""


def load(path: str | Path, *, device: str = "auto") -> Segmenter:
    """Loads a run folder (its `best` model, or `last` while it trains), or a .safetensors file.

    The device is `auto`, `cpu`, `cuda`, …
    """
    checkpoint = checkpoint_path(Path(path))
    model, card = load_model(checkpoint)
    return Segmenter(
        model.to(choose_device(device)),
        vocabulary=card.vocabulary,
        config=parse_run_config(card.config, where=f"{checkpoint}, model card"),
        priors=_priors(model, card, checkpoint),
        sampling_rate=card.sampling_rate,
        frames_per_second=card.frames_per_second,
        scaling=read_scaling(checkpoint),
        origin=_origin(card),
        extractor=card.extractor,
    )


def _priors(model: nn.Module, card: ModelCard, checkpoint: Path) -> Priors:
    """The priors in the card; for an ensemble, the average of those in its members' cards."""
    n_classes = len(card.vocabulary)
    found = [
        Priors.from_dict(one.decoding, n_classes, where=checkpoint)
        for one in card.members or (card,)
    ]
    return mean_priors(found, model) if card.members else found[0]


def _tempered(frames: FramePrediction, priors: Priors) -> NDArray[np.float64]:
    members, logs = frames.member_log_probabilities, frames.log_probabilities
    if members is None or len(members) != len(priors.member_temperatures):
        return tempered(logs, priors.temperature.of(logs))
    # A temperature fits the confidences of one model; their mean is less sure than each of them.
    pairs = zip(members, priors.member_temperatures, strict=True)
    shown = [torch.from_numpy(tempered(own, one.of(own))) for own, one in pairs]
    mean: NDArray[np.float64] = mean_probabilities(shown).numpy()
    return mean


def _origin(card: ModelCard) -> str:
    if card.members:
        return f"ensemble of {len(card.members)} ({', '.join(one.kind for one in card.members)})"
    return f"stage {card.stage}, epoch {card.epoch} ({card.selection})"


@dataclass(frozen=True, eq=False)
class Segmenter:
    """A trained model that segments videos.

    Args:
        module: the network, in eval mode, on the device it works on.
        vocabulary: the classes.
        config: the run's settings; `decode` is how it segments unless told otherwise.
        priors: what decoding knows besides the network.
        sampling_rate: source frames per frame.
        frames_per_second: of the source, if known.
        scaling: how features are scaled before the network sees them; None takes them as they are.
            The members of an ensemble scale them themselves.
        origin: which epoch the weights are from, for reports.
        extractor: what made the features it was trained on, if known.
    """

    module: nn.Module
    _: KW_ONLY
    vocabulary: Vocabulary
    config: Config
    priors: Priors
    sampling_rate: int = 1
    frames_per_second: float | None = None
    scaling: Scaling | None = None
    origin: str = ""
    extractor: ExtractorRecord | None = None

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.module.parameters()).device

    @property
    def n_features(self) -> int:
        """F, the width of the features it takes."""
        return int(as_frame_model(self.module).dimensions.n_features)

    def options(self, **changes: Any) -> DecodeConfig:
        """The model's decoding settings with some of them changed, checked."""
        changed = {f"decode.{name}": value for name, value in changes.items() if value is not None}
        return self.config.replaced(**changed).decode

    def parsed_options(self, settings: Sequence[str], **changes: str | None) -> DecodeConfig:
        """The same from text such as `beam_width=5`; a setting without effect is an error."""
        given = [f"{name}={value}" for name, value in changes.items() if value is not None]
        parsed = dict(map(parse_decode_setting, (*settings, *given)))
        options = self.config.replaced(**parsed).decode
        check_effect(parsed, options)
        return options

    def frames(self, features: NDArray[np.floating[Any]]) -> FramePrediction:
        """The frame head's view of features `(T, F)` at the model's rate."""
        return self.encode_batch([video_of_array(features)]).frames[0]

    def encode(self, features: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Encoder features `(T, D)` of input features `(T, F)` at the model's rate."""
        return self.frames(features).features

    def segment(
        self, features: NDArray[np.floating[Any]] | str | Path, **options: Any
    ) -> Prediction:
        """Segments one video.

        Args:
            features: `(T, F)` at the source rate, a .npy file of them, or a video to extract them
                from (a file of poses or tables, if the model uses these).
            options: any setting of the config's `decode` section, such as `transcript="best"`.
        """
        chosen = self.options(**options)
        if not isinstance(features, str | Path):
            return self._segment(video_of_array(features, self.sampling_rate), chosen)
        with extracted(Path(features), self.extractor, device=str(self.device)) as path:
            return self._segment(
                FeatureFile(path, self.n_features, self.sampling_rate).read(), chosen
            )

    def _segment(self, video: Video, options: DecodeConfig) -> Prediction:
        return self.decode_batch(self.encode_batch([video], options), options)[0]

    def segment_by(
        self, videos: Sequence[Video], decodings: Mapping[str, DecodeConfig], *, workers: int = 0
    ) -> dict[str, tuple[Prediction, ...]]:
        """Segments videos by several named decodings.

        Every video is encoded once for all decodings with the same views.
        """
        encoded: dict[object, EncodedVideos] = {}
        found = {}
        for name, options in decodings.items():
            views = (options.rates, options.phases)
            if views not in encoded:
                encoded[views] = self.encode_batch(videos, options)
            found[name] = self.decode_batch(encoded[views], options, workers=workers)
        return found

    @property
    def of_levelled(self) -> Segmenter:
        """The same model for videos that are levelled already, as those of a training run are."""
        if self.scaling is None or not self.scaling.levels:
            return self
        return replace(self, scaling=replace(self.scaling, levels=False))

    @torch.inference_mode()
    def encode_batch(
        self, videos: Sequence[Video], options: DecodeConfig | None = None
    ) -> EncodedVideos:
        """The costly half of segmenting videos at the model's rate.

        Of the options (None for the model's own), only `rates` and `phases` matter. The transcript
        decoder attends to the original video.
        """
        options = options or self.config.decode
        videos = [self.checked(video) for video in videos]
        found = self._encoded(videos)
        if not (options.rates or options.phases):
            return found
        frames = averaged_frames(
            lambda views: self._encoded(views).frames,
            videos,
            found.frames,
            rates=options.rates,
            phases=options.phases,
        )
        return replace(found, frames=frames)

    def _encoded(self, videos: Sequence[Video]) -> EncodedVideos:
        """Encodes videos, or views of them, each by itself."""
        encoded, mask = encoded_batch(self.module, videos, self.scaling, self.device)
        frames = frame_predictions(encoded, [video.n_frames for video in videos])
        for video, one in zip(videos, frames, strict=True):
            if not one.is_sound:
                scalings = scalings_of(self.module) if self.scaling is None else (self.scaling,)
                raise outputs_are_nan(video, scalings)
        return EncodedVideos(tuple(videos), encoded, mask, frames)

    def decode_batch(
        self,
        batch: EncodedVideos,
        options: DecodeConfig,
        *,
        priors: Priors | None = None,
        workers: int = 0,
    ) -> tuple[Prediction, ...]:
        """The other half, which can be repeated with other options or priors than the model's own.

        `rates` and `phases` must be those that the videos were encoded with.
        """
        decoder = Decoder(self.module, self.vocabulary, priors or self.priors, options)
        jobs = decoder.jobs(batch.encoded, batch.mask, batch.frames)
        with ThreadPoolExecutor(max(1, workers)) as pool:
            decoded = list(pool.map(decoder.decode, jobs))
        shown = partial(self._prediction, priors=decoder.priors)
        return tuple(map(shown, batch.frames, decoded, batch.videos))

    def tempered(self, frames: FramePrediction) -> NDArray[np.float64]:
        """Log-probabilities `(T, C)` as confidences show them; decoding takes them as they are."""
        return _tempered(frames, self.priors)

    def candidates(self, batch: EncodedVideos, options: DecodeConfig) -> tuple[Candidates, ...]:
        """What `best` chooses from, at the model's rate."""
        decoder = Decoder(self.module, self.vocabulary, self.priors, options)
        jobs = decoder.jobs(batch.encoded, batch.mask, batch.frames)
        return tuple(map(decoder.candidates, jobs))

    def _prediction(
        self,
        frames: FramePrediction,
        decoded: DecodedVideo,
        video: Video,
        *,
        priors: Priors,
    ) -> Prediction:
        segmentation, confidences, confidence = decoded.segmentation, np.zeros(0), None
        doubts, looks = None, None
        if segmentation is not None:
            labels = segmentation.labels[:, None]
            shown = _tempered(frames, priors)
            chosen = np.exp(np.take_along_axis(shown, labels, 1)[:, 0])
            confidences = np.add.reduceat(chosen, segmentation.starts) / segmentation.durations
            confidence = float(chosen.mean())
            counts = np.diff(source_bounds(video.source_frames, video.sampling_rate))
            doubts = Doubts.of(shown, segmentation, frames.divergences, counts)
            looks = self._looks(video, segmentation)
            segmentation = segmentation.upsampled(video.sampling_rate, video.source_frames)
            if (fine := frames.source_log_probabilities) is not None:
                segmentation = fine_cuts(segmentation, fine, video.sampling_rate)
        return Prediction(
            transcript=decoded.transcript,
            segmentation=segmentation,
            confidences=confidences,
            confidence=confidence,
            vocabulary=self.vocabulary,
            frames_per_second=video.frames_per_second or self.frames_per_second,
            edges=video.edges,
            complete=decoded.complete,
            doubts=doubts,
            looks=looks,
        )

    def _looks(self, video: Video, segmentation: Segmentation) -> NDArray[np.float64]:
        """What segments at the model's rate look like `(S, L)`."""
        scalings = (self.scaling, *scalings_of(self.module))  # of an ensemble, the first member's
        scaling = next((one for one in scalings if one is not None), None)
        looks = []
        for first in range(0, len(segmentation), SEGMENTS_SEEN):
            rows = slice(first, first + SEGMENTS_SEEN)
            spans = zip(segmentation.starts[rows], segmentation.ends[rows], strict=True)
            # One segment at a time: numpy would copy all features to float64 first.
            sums = [video.features[a:b].sum(axis=0, dtype=np.float64) for a, b in spans]
            means: NDArray[np.floating[Any]] = np.stack(sums)
            means /= segmentation.durations[rows, None]
            if scaling is not None and scaling.levels:
                means = levelled(means, video.moments)
            scaled = means if scaling is None else scaling.scaled(means)
            looks.append(segment_looks(scaled.astype(np.float64)))
        return np.concatenate(looks)

    def is_familiar(self, video: Video) -> bool:
        """Whether a video's features may be of the kind that the model was trained on.

        Other units, columns in another order or another extractor's features show in their scale.
        A model that leaves features as they are, or brings every video to its own scale, cannot
        tell.
        """
        scalings = scalings_of(self.module) if self.scaling is None else (self.scaling,)
        return all(one is None or one.is_familiar(video.features) for one in scalings)

    def checked(self, video: Video, where: Path | None = None) -> Video:
        """The same video, if its width is the model's; else an error that names it, or its file."""
        if video.features.shape[1] != self.n_features:
            raise FeatureError(
                f"features of shape {video.features.shape}",
                where=where or video.name,
                remedy=f"the model wants (T, {self.n_features}) with at least one frame",
            )
        return video
