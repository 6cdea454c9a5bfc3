"""The settings of a run, section by section: what each is, what it may be, and its default.

docs/settings.md has the same sentences; a test compares them. Limits are wide: they refuse what no
machine can do and what is a slip of the keyboard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pydantic
from pydantic import Field

MAX_SHARPNESS = 700.0
"""exp(-sharpness) has to be a float64."""

MAX_LAYERS = 20
"""The last of so many encoder blocks sees half a million frames."""

MANY = 10**6


def _odd(width: int) -> int:
    if width and width % 2 == 0:
        raise ValueError("not an odd number")
    return width


def _none_or_several(number: int) -> int:
    if number == 1:
        raise ValueError("neither 0 nor at least 2")
    return number


def _recipes(value: object) -> int | str:
    if value == "auto":
        return "auto"
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100:
        raise ValueError("not 'auto' or a whole number from 0 to 100")
    return value


def _share_or_auto(value: object) -> float | str:
    if value == "auto":
        return "auto"
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ValueError("not 'auto' or a number of at least 0 and below 1")
    return float(value)


def _scaling(value: object) -> bool | str:
    if value in ("auto", "video"):
        return str(value)
    if not isinstance(value, bool):
        raise ValueError("not true, false, 'video' or 'auto'")
    return value


# strict: TOML has types, so `epochs = true` is a slip and not a 1
Count = Annotated[int, Field(ge=0, le=MANY, strict=True)]
Positive = Annotated[int, Field(ge=1, le=MANY, strict=True)]
Width = Annotated[Positive, Field(le=2048)]
OddWidth = Annotated[Count, Field(le=10_001), pydantic.AfterValidator(_odd)]
Number = Annotated[float, Field(strict=True)]  # a whole number will do, text or true will not
Probability = Annotated[Number, Field(ge=0, lt=1)]
Share = Annotated[Number, Field(ge=0, le=1)]
ShareOrAuto = Annotated[float | Literal["auto"], pydantic.PlainValidator(_share_or_auto)]
ScalingKind = Annotated[bool | Literal["video", "auto"], pydantic.PlainValidator(_scaling)]
Folds = Annotated[Count, Field(le=100), pydantic.AfterValidator(_none_or_several)]
NonNegative = Annotated[Number, Field(ge=0, le=10**9)]
Above = Annotated[Number, Field(gt=0, le=10**9)]
Factor = Annotated[Number, Field(ge=1, le=10)]
Dilations = Annotated[tuple[Positive, ...], Field(max_length=MAX_LAYERS**2)]

EncoderKind = Literal["uvast", "asformer", "plain"]
WindowKind = Literal["neighbourhood", "band"]
GroupMean = Literal["mean-probability", "mean-logit", "mean-log-probability"]
GroupForm = Literal["off", GroupMean]
ClassWeights = Literal["equal", "median-frequency"]
CutMethod = Literal["class-model", "k-medoids", "energy", "midpoint"]
TargetMethod = Literal[CutMethod, "clicks"]
MetricName = Literal["euclidean", "cosine"]
UnlabelledVideos = Literal["none", "test", "rest"]
LengthKind = Literal["poisson", "gamma", "none"]
Rates = Annotated[tuple[Annotated[Number, Field(ge=0.1, le=10)], ...], Field(max_length=20)]
Recipes = Annotated[int | Literal["auto"], pydantic.PlainValidator(_recipes)]
FifaOptimiser = Literal["gradient-descent", "fast"]
OptimiserKind = Literal["adam", "sgd"]

STRICT = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)
"""Of the whole config; its sections inherit it."""


@dataclass(frozen=True)
class ModelConfig:
    """The network (docs/method.md). Defaults are the paper's."""

    kind: Annotated[str, Field(max_length=100)] = "uvast"
    """`uvast`, another system (all of them: `ms-tcn`, `asrf`, …), or a model of your
    own"""
    encoder: EncoderKind = "uvast"
    """frame encoder: `uvast`, `asformer` (ReLU, no second convolution), `plain` (a Transformer)"""
    window: WindowKind = "neighbourhood"
    """what a frame attends to: its block and half a block on either side, or, with `band`, up to
    half a window on either side"""
    width: Width = 64
    """width of every layer; even"""
    attention_width: Width = 32
    """width of queries, keys and values in the window attention"""
    n_heads: Annotated[Positive, Field(le=64)] = 1
    """heads of every attention layer; they divide both widths"""
    n_encoder_layers: Annotated[Positive, Field(le=MAX_LAYERS)] = 10
    """blocks of the encoder (layers of a stage, for a baseline); block i has dilation and window
    2^i"""
    dilations: Dilations = ()
    """of a TCN's layers, instead of 1, 2, 4, …: one for each layer of a stage, or one for each
    layer of every stage, such as `[1, 3, 9]`; empty doubles them"""
    n_decoder_layers: Annotated[Positive, Field(le=MAX_LAYERS)] = 2
    """layers of the transcript decoder"""
    decoder_feedforward: Annotated[Positive, Field(le=16_384)] = 2048
    """hidden width of the transcript decoder's feed-forward layers"""
    alignment_feedforward: Annotated[Positive, Field(le=16_384)] = 1024
    """the same for the alignment decoder"""
    attention_smoothing: OddWidth = 0
    """odd width, in frames, over which the cross-attention's keys are averaged; 0 for none"""
    explicit_durations: bool = False
    """the transcript decoder also predicts each segment's share of the video"""
    boundary_output: bool = False
    """`uvast` also says at which frames segments start, for `decode.boundary_weight`; `asrf` and
    `bcn` always do"""
    barrier_window: Annotated[Positive, Field(le=10_001), pydantic.AfterValidator(_odd)] = 99
    """odd width, in frames, over which `bcn` averages its frame logits, up to boundaries; 1 for
    none"""
    refinement_stages: Annotated[Count, Field(le=MAX_LAYERS)] = 0
    """stages after the encoder of `uvast` that refine its frame logits, each with losses of its
    own; 0 for none"""
    channel_dropout: Probability = 0.3
    """rate at which whole input channels are dropped"""
    encoder_dropout: Probability = 0.5
    """rate inside an encoder block"""
    decoder_dropout: Probability = 0.1
    """rate inside the layers of the decoders and of the plain encoder"""
    input_dropout: Probability = 0.2
    """rate on both inputs of either decoder"""
    output_dropout: Probability = 0.5
    """rate before the transcript decoder's output layer"""
    n_stages: Annotated[Positive, Field(le=MAX_LAYERS)] = 4
    """stages of a baseline"""
    chunk: Annotated[Positive, Field(le=1000)] = 4
    """frames that `c2f-tcn` pools into one; half of the videos it learns from are pooled by another
    number, between half and twice this one"""
    test_chunk_least: Annotated[Positive, Field(le=1000)] = 3
    """to segment a video, `c2f-tcn` averages over several such numbers, from this one"""
    test_chunk_most: Annotated[Positive, Field(le=1000)] = 5
    """to this one"""
    mask_token: bool = False
    """frames that `train.time_masking` hides become a learned vector instead of 0"""


@dataclass(frozen=True)
class LossConfig:
    """The terms of the objective, each on its own switch (docs/method.md, Losses of stage 1)."""

    frame: bool = True
    """cross-entropy of the frames"""
    segment: bool = True
    """cross-entropy of the transcript"""
    group_frame: GroupForm = "mean-logit"
    """cross-entropy of the average frame of each class: over `mean-logit`, `mean-probability` or
    `mean-log-probability`; `off` for none"""
    group_segment: GroupForm = "mean-probability"
    """the same for the transcript's segments"""
    cross_attention: bool = True
    """a term by which the transcript decoder learns to attend to the frames of its segment"""
    temperature: Above = 0.001
    """of the softmax in that term"""
    smoothing: NonNegative = 0.0
    """weight of a term that keeps neighbouring frames alike; 0 for none"""
    smoothing_clip: Above = 4.0
    """a larger change from frame to frame counts as this one"""
    smoothing_distance: NonNegative = 0.0
    """in that term, frames whose features are d apart count exp(-d / this); 0 counts all alike"""
    confidence: NonNegative = 0.0
    """weight of a term for timestamps: on the way from a timestamp to its neighbours, its class
    must not become likelier; 0 for none"""
    class_weights: ClassWeights = "equal"
    """of the frames in their cross-entropy: `equal`, or `median-frequency`, which makes frames of
    rare classes count more"""
    boundary: Above = 0.1
    """weight of the boundaries' cross-entropy, if the model has that output"""
    boundary_width: Annotated[NonNegative, Field(le=MANY)] = 1.0
    """standard deviation, in frames, of the soft targets around a cut; with 0 only the cut itself
    is a target. Pseudo-labels are less sure of their cuts: try 4 with timestamps"""


@dataclass(frozen=True)
class TrainConfig:
    """The two stages of training. 0 (of a factor: 1) switches an option off."""

    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)] = 0
    """of everything random (`--seed`)"""
    epochs: Count = 800
    """of stage 1: encoder and transcript decoder, or a baseline"""
    alignment_epochs: Count = 800
    """of stage 2: the alignment decoder (`--stage 1` is 0)"""
    batch_size: Annotated[Positive, Field(le=10_000)] = 1
    """videos in a batch"""
    sampling_rate: Count = 0
    """the model sees every n-th frame (`--sampling-rate`); 0 keeps the dataset's own rate"""
    accumulation: Annotated[Positive, Field(le=10_000)] = 1
    """batches in a step of the optimiser"""
    optimiser: OptimiserKind = "adam"
    """`adam`, or `sgd`: gradient descent with a momentum of 0.9"""
    learning_rate: Above = 5e-4
    """of the optimiser"""
    weight_decay: NonNegative = 1e-5
    """of the optimiser"""
    clip_norm: NonNegative = 0.0
    """largest norm of a gradient"""
    schedule: Literal["constant", "cosine"] = "constant"
    """learning rate over the epochs; `cosine` falls to 0"""
    warmup_epochs: Count = 0
    """epochs in which the learning rate rises"""
    averaging: Probability = 0.0
    """decay of a moving average of the weights; these averaged weights are then the model"""
    scaling: ScalingKind = True
    """each channel of the features is scaled to mean 0 and standard deviation 1: `true` as measured
    on the training videos, `video` by each video's own numbers, for recordings that differ in
    camera, sensor, unit or place; `auto` is `video` where held-out training videos are recognised
    far better so, else `true`"""
    chunk_fraction: Share = 0.17
    """largest share of a video that one segment may have; longer segments are cut into chunks (with
    full labels)"""
    frame_dropping: Share = 0.0
    """probability that a video loses 10 to 200 frames, in stage 1"""
    alignment_frame_dropping: Share = 0.5
    """the same in stage 2"""
    feature_noise: NonNegative = 0.0
    """white noise in stage 1, in standard deviations of each channel"""
    time_masking: Share = 0.0
    """share of the frames that go dark in stage 1, in spans of 20; spans may overlap, so the true
    share is a little lower: 9.5 % for 0.1, 26 % for 0.3"""
    recombination: Share = 0.0
    """probability that a video of stage 1 is recombined: its segments are replaced by others of
    their class from the training videos"""
    reordering: Share = 0.0
    """probability that a recombined video has a new transcript, drawn from the pairs of actions
    that follow each other in the training videos"""
    speed: Factor = 1.0
    """largest factor by which a video of stage 1 runs faster or slower, log-uniform; 1 for none"""
    time_warp: Factor = 1.0
    """the same for each eighth of a video on its own"""
    channel_warp: Annotated[NonNegative, Field(le=10)] = 0.0
    """standard deviation of the logarithm of a random gain of each channel in stage 1; the gain
    drifts over the video"""
    symmetry: Share = 0.5
    """probability that a video of stage 1 is mirrored, if dataset.toml declares a symmetry"""
    validation: ShareOrAuto = "auto"
    """share of the training side that chooses the epoch and the weights of `best` (`--validation`);
    `auto` is 0 with a split or with folds, else 0.2 if there are 10 videos or more"""
    validate_every: Positive = 5
    """epochs from one validation to the next"""
    patience: Count = 0
    """epochs without a better validation after which training stops; never before the next
    validation"""
    folds: Folds = 0
    """inner runs, each without some of the videos, that choose the weights of `best` before the run
    learns from all videos; they take another (folds - 1) times as long as the run, and `--members`
    share them; 0 for none"""
    fold_epochs: Annotated[Above, Field(le=1000)] = 1.0
    """epochs of such an inner run, as a share of `epochs`"""
    unlabelled: UnlabelledVideos = "none"
    """videos that `sstda` also learns from, without their labels: `none`, the `test` side of the
    split (which makes the run transductive), or the `rest`, every other video that has features"""
    checkpoint_seconds: NonNegative = 30.0
    """least time from one checkpoint to the next; 0 writes one each epoch"""
    workers: Annotated[Count, Field(le=256)] = 0
    """threads that load videos ahead"""

    @property
    def epochs_of_fold(self) -> int:
        """Epochs of each inner run."""
        return max(1, round(self.epochs * self.fold_epochs)) if self.epochs else 0

    def epochs_of_stages(self, *, has_second: bool) -> dict[int, int]:
        """Epochs of each stage that is trained; not every model has a second one."""
        second = self.alignment_epochs if has_second else 0
        return {1: self.epochs, **({2: second} if second else {})}


@dataclass(frozen=True)
class SupervisionConfig:
    """Where training targets come from (docs/method.md, Timestamps)."""

    kind: Literal["full", "timestamps"] = "full"
    """full labels, or `timestamps` (`--supervision`)"""
    method: TargetMethod = "class-model"
    """how timestamps become labels: `class-model`, `k-medoids` (the paper's), `energy` (Li et al.),
    `midpoint`; `clicks` also cuts at midpoints, but the frame losses see only the clicked frames
    until labels are refreshed"""
    metric: MetricName = "euclidean"
    """how frames are compared; or `cosine`"""
    prior: NonNegative = 0.25
    """how strongly cuts are pulled to the midpoint or, with `class-model`, to where the classes'
    mean lengths divide a gap; 0 is the paper's; `energy` has none"""
    offsets: NonNegative = 0.05
    """with `class-model`, the clicks tell how far from the place where features change people cut
    between two actions; this is how far it usually is, as a share of an action's mean length; 0
    cuts where features change"""
    soft: NonNegative = 0.0
    """each epoch draws the cuts again, with the probabilities that class models give them; this is
    the temperature: the higher, the more the cuts vary; 0 keeps the likeliest cuts"""
    margin: Annotated[Number, Field(ge=0, lt=0.5)] = 0.0
    """share of a segment, at each end that meets another segment, whose frames are left out of the
    frame losses, because cuts between timestamps are guesses; 0 leaves out none"""
    refresh_every: Count = 0
    """epochs after which pseudo-labels are cut again, by the averaged weights if `train.averaging`
    is on; 0 for never (`--refresh-pseudo-labels`)"""
    refresh_after: Count = 20
    """epochs before the first refresh"""
    refresh_by: Literal["viterbi", "k-medoids", "energy"] = "viterbi"
    """how the model places the cuts: `viterbi`, or `k-medoids` or `energy` on encoder features"""


@dataclass(frozen=True)
class DecodeConfig:
    """From a model's outputs to a segmentation (docs/method.md, Durations)."""

    transcript: Literal["decoder", "semi-markov", "best", "frames", "boundaries"] = "decoder"
    """where the transcript comes from: `decoder`, `frames` (the runs of the frame labels),
    `boundaries` (the pieces between a model's boundaries, named by their frames), `semi-markov`
    (which finds the durations, too), or the `best` of all"""
    durations: Literal["viterbi", "fifa", "alignment", "explicit", "none"] = "viterbi"
    """`viterbi`, `fifa`, `alignment` (needs stage 2), `explicit` (needs `model.explicit_durations`,
    or `mucon`), or `none`; `semi-markov` and `best` find their own"""
    beam_width: Annotated[Count, Field(le=1000)] = 0
    """transcripts that the beam search keeps; 1 is greedy. With 0 the decoder is greedy, too, but a
    beam of 10 searches again if that does not end, and `best` always adds such a beam"""
    length_power: Annotated[NonNegative, Field(le=10)] = 0.5
    """a beam ranks transcripts by their log-probability divided by their length to this power; with
    0 it prefers short ones"""
    max_segments: Annotated[Positive, Field(le=10_000)] = 200
    """longest transcript that the decoder writes"""
    length_model: LengthKind = "poisson"
    """of Viterbi: `poisson` (the paper's), `gamma`, `none`"""
    frame_sampling: Positive = 1
    """Viterbi puts boundaries only at multiples of this number; 1 is exact"""
    alpha: Annotated[NonNegative, Field(le=100)] = 0.0
    """power of the frame posteriors; 0 means 1 with Poisson lengths, else the model's own power
    (0.2, or what held-out videos chose)"""
    boundary_weight: Annotated[NonNegative, Field(le=100)] = 0.0
    """weight of a model's boundaries in `viterbi`, `semi-markov` and `best`; 0 leaves them out"""
    mode_filter: OddWidth = 0
    """odd width of a filter over the frame labels, for `frames`; 0 for none"""
    fifa_optimiser: FifaOptimiser = "gradient-descent"
    """the paper's; `fast` reaches a lower energy, with its own number and size of steps"""
    fifa_sharpness: Annotated[Above, Field(le=MAX_SHARPNESS)] = 80.0
    """of FIFA's masks"""
    fifa_steps: Positive = 3000
    """of gradient descent"""
    fifa_step_size: Above = 0.01
    """of gradient descent"""
    fifa_length_weight: NonNegative = 0.0
    """weight of the mean lengths in FIFA's energy"""
    fifa_sum_weight: NonNegative = 0.1
    """weight of the sum of the lengths"""
    rates: Rates = ()
    """the model sees a video at each of these multiples of its number of frames and averages the
    frame posteriors: `[0.8, 1.0, 1.25]` takes three times as long; empty means once, as it is"""
    phases: bool = False
    """with `train.sampling_rate` above 1, the model also sees the frames in between: posteriors are
    averaged, and cuts move to single source frames"""
    ends: bool = False
    """`semi-markov` and `best` know after which actions the training videos end"""
    recipes: Recipes = 0
    """groups of similar training transcripts, each with its own bigrams; `semi-markov` and `best`
    take the likeliest group for a video. `auto` finds the number of groups; 0 has one for all"""

    @property
    def is_bare(self) -> bool:
        """Whether only a transcript comes out, without durations."""
        return (self.transcript, self.durations) == ("decoder", "none")
