"""`uvast.load(path).segment(features)`: a trained model, ready to use."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from uvast.config import Config, DecodeConfig, parse_config
from uvast.data import Video, collate
from uvast.devices import choose_device
from uvast.errors import CheckpointError, FeatureError
from uvast.inference.decoder import Decoder
from uvast.inference.inputs import FeatureFile, sampled_video
from uvast.inference.named_decodings import check_effect, parse_decode_setting
from uvast.inference.prediction import FramePrediction, Prediction
from uvast.inference.priors import Priors
from uvast.models.build import as_frame_model
from uvast.models.checkpoint import load_model
from uvast.runs import checkpoint_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from torch import nn

    from uvast.inference.candidates import Candidates
    from uvast.inference.prediction import DecodedVideo
    from uvast.models import Encoded
    from uvast.vocabulary import Vocabulary


def load(path: str | Path, *, device: str = "auto") -> Segmenter:
    """Loads a run folder, or one of its checkpoints.

    Args:
        path: a run folder (its `best` model, or `last` while it trains), or a .safetensors file.
        device: `auto`, `cpu`, `cuda`, …
    """
    checkpoint = checkpoint_path(Path(path))
    model, card = load_model(checkpoint)
    return Segmenter(
        model.to(choose_device(device)),
        vocabulary=card.vocabulary,
        config=parse_config(card.config, where=f"{checkpoint}, model card"),
        priors=Priors.from_dict(card.decoding, len(card.vocabulary), where=checkpoint),
        sampling_rate=card.sampling_rate,
        frames_per_second=card.frames_per_second,
        origin=f"stage {card.stage}, epoch {card.epoch} ({card.selection})",
    )


@dataclass(frozen=True, eq=False)
class EncodedVideos:
    """Videos that the encoder has seen, ready to be decoded in any way.

    Args:
        videos: the B videos.
        encoded: the encoder's output.
        mask: valid frames `(B, T)`.
        frames: the frame head's view of each.
    """

    videos: tuple[Video, ...]
    encoded: Encoded
    mask: torch.Tensor
    frames: tuple[FramePrediction, ...]


@dataclass(frozen=True, eq=False)
class Segmenter:
    """A trained model that segments videos.

    Args:
        module: the network, in eval mode, on the device it is to work on.
        vocabulary: the classes.
        config: the run's settings; `decode` is how it segments unless told otherwise.
        priors: what decoding knows beside the network.
        sampling_rate: source frames per frame.
        frames_per_second: of the source, if known.
        origin: which epoch the weights are of, for reports.
    """

    module: nn.Module
    _: KW_ONLY
    vocabulary: Vocabulary
    config: Config
    priors: Priors
    sampling_rate: int = 1
    frames_per_second: float | None = None
    origin: str = ""

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.module.parameters()).device

    @property
    def n_features(self) -> int:
        """F, the width of the features it takes."""
        return int(as_frame_model(self.module).dimensions.n_features)

    def options(self, **changes: Any) -> DecodeConfig:
        """The model's decoding settings with single ones changed, checked."""
        changed = {f"decode.{name}": value for name, value in changes.items() if value is not None}
        return self.config.replaced(**changed).decode

    def parsed_options(self, settings: Sequence[str], **changes: str | None) -> DecodeConfig:
        """The same from text such as `beam_width=5`, as the command line has it.

        A setting that would change nothing beside the chosen transcript is an error.
        """
        given = [f"{name}={value}" for name, value in changes.items() if value is not None]
        parsed = dict(map(parse_decode_setting, (*settings, *given)))
        options = self.config.replaced(**parsed).decode
        check_effect(parsed, options)
        return options

    def frames(self, features: NDArray[np.floating[Any]]) -> FramePrediction:
        """The frame head's view of features `(T, F)` at the model's rate."""
        video = Video("features", np.asarray(features, np.float32), None, len(features))
        return self._frame_predictions([video], *self._encode([video]))[0]

    def encode(self, features: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Encoder features `(T, D)` of input features `(T, F)` at the model's rate."""
        return self.frames(features).features

    def segment(
        self,
        features: NDArray[np.floating[Any]] | str | Path,
        **options: Any,
    ) -> Prediction:
        """Segments one video.

        Args:
            features: `(T, F)` at the source rate, or a .npy file of them.
            options: any setting of the config's `decode` section, such as `transcript="best"`.
        """
        if isinstance(features, str | Path):
            video = FeatureFile(Path(features), self.n_features, self.sampling_rate).read()
        else:
            video = sampled_video("features", np.asarray(features), self.sampling_rate)
        return self.segment_batch([video], self.options(**options))[0]

    def segment_batch(
        self, videos: Sequence[Video], options: DecodeConfig, *, workers: int = 0
    ) -> tuple[Prediction, ...]:
        """Segments several videos at once; each as if it were alone.

        Args:
            videos: at the model's rate.
            options: how to decode.
            workers: threads that decode videos side by side.
        """
        return self.decode_batch(self.encode_batch(videos), options, workers=workers)

    def segment_by(
        self, videos: Sequence[Video], decodings: Mapping[str, DecodeConfig], *, workers: int = 0
    ) -> dict[str, tuple[Prediction, ...]]:
        """The same by several decodings, each with its name; every video is encoded once."""
        encoded = self.encode_batch(videos)
        return {
            name: self.decode_batch(encoded, options, workers=workers)
            for name, options in decodings.items()
        }

    def encode_batch(self, videos: Sequence[Video]) -> EncodedVideos:
        """The costly half of `segment_batch`, which no decoding option changes."""
        encoded, mask = self._encode(videos)
        frames = self._frame_predictions(videos, encoded, mask)
        return EncodedVideos(tuple(videos), encoded, mask, frames)

    def decode_batch(
        self,
        batch: EncodedVideos,
        options: DecodeConfig,
        *,
        priors: Priors | None = None,
        workers: int = 0,
    ) -> tuple[Prediction, ...]:
        """The other half; as often as there are options, or priors in place of the model's own."""
        decoder = self._decoder(options, priors)
        jobs = decoder.jobs(batch.encoded, batch.mask, batch.frames)
        with ThreadPoolExecutor(max(1, workers)) as pool:
            decoded = list(pool.map(decoder.decode, jobs))
        return tuple(map(self._prediction, batch.frames, decoded, batch.videos))

    def candidates(
        self, batch: EncodedVideos, options: DecodeConfig, *, priors: Priors | None = None
    ) -> tuple[Candidates, ...]:
        """What `best` chooses from, at the model's rate."""
        decoder = self._decoder(options, priors)
        jobs = decoder.jobs(batch.encoded, batch.mask, batch.frames)
        return tuple(map(decoder.candidates, jobs))

    def _decoder(self, options: DecodeConfig, priors: Priors | None) -> Decoder:
        return Decoder(self.module, self.vocabulary, priors or self.priors, options)

    def _prediction(
        self, frames: FramePrediction, decoded: DecodedVideo, video: Video
    ) -> Prediction:
        segmentation, confidences, confidence = decoded.segmentation, np.zeros(0), None
        if segmentation is not None:
            chosen = np.exp(
                np.take_along_axis(
                    frames.log_probabilities.astype(np.float64), segmentation.labels[:, None], 1
                )
            )[:, 0]
            confidences = np.add.reduceat(chosen, segmentation.starts) / segmentation.durations
            confidence = float(chosen.mean())
            segmentation = segmentation.upsampled(video.sampling_rate, video.source_frames)
        return Prediction(
            transcript=decoded.transcript,
            segmentation=segmentation,
            confidences=confidences,
            confidence=confidence,
            vocabulary=self.vocabulary,
            frames_per_second=video.frames_per_second or self.frames_per_second,
            complete=decoded.complete,
        )

    @torch.inference_mode()
    def _encode(self, videos: Sequence[Video]) -> tuple[Encoded, torch.Tensor]:
        batch = collate([self.checked(video) for video in videos]).to(self.device)
        return as_frame_model(self.module).encode(batch.features, batch.mask), batch.mask

    @staticmethod
    def _frame_predictions(
        videos: Sequence[Video], encoded: Encoded, mask: torch.Tensor
    ) -> tuple[FramePrediction, ...]:
        lengths = mask.sum(1).tolist()
        log_probabilities = encoded.logits.log_softmax(-1).cpu().numpy()
        for video, n, one in zip(videos, lengths, log_probabilities, strict=True):
            if np.isnan(one[:n].sum()):
                raise CheckpointError(
                    "the model's outputs are NaN",
                    where=video.name,
                    remedy="its weights are broken or the features are far out of range: "
                    "train again with a lower train.learning_rate, or check the features",
                )
        features = encoded.features.cpu().numpy()
        return tuple(
            FramePrediction(features[i, :n], log_probabilities[i, :n])
            for i, n in enumerate(lengths)
        )

    def checked(self, video: Video, where: Path | None = None) -> Video:
        """The same video, if the model can take it; else an error that names it, or its file."""
        if not video.n_frames or video.features.shape[1] != self.n_features:
            raise FeatureError(
                f"features of shape {video.features.shape}",
                where=where or video.name,
                remedy=f"the model wants (T, {self.n_features}) with at least one frame",
            )
        if not np.isfinite(video.features.sum()) and not np.isfinite(video.features).all():
            raise FeatureError(
                "features with NaN or infinite values",
                where=where or video.name,
                remedy="extract the features again",
            )
        return video
