"""All settings of a run: frozen dataclasses, read from TOML, checked once.

Config never enters a module: builders spell out keyword arguments from it. Other packages import
the names of choices (`LengthKind`, `MetricName` …) and shared limits from here.
"""

from uvast.config.reading import (
    Config,
    load_config,
    parse_config,
    parse_run_config,
    parse_setting,
)
from uvast.config.sections import (
    MAX_SHARPNESS,
    ClassWeights,
    CutMethod,
    DecodeConfig,
    EncoderKind,
    FifaOptimiser,
    GroupForm,
    GroupMean,
    LengthKind,
    LossConfig,
    MetricName,
    ModelConfig,
    OptimiserKind,
    SupervisionConfig,
    TargetMethod,
    TrainConfig,
    WindowKind,
)

__all__ = [
    "MAX_SHARPNESS",
    "ClassWeights",
    "Config",
    "CutMethod",
    "DecodeConfig",
    "EncoderKind",
    "FifaOptimiser",
    "GroupForm",
    "GroupMean",
    "LengthKind",
    "LossConfig",
    "MetricName",
    "ModelConfig",
    "OptimiserKind",
    "SupervisionConfig",
    "TargetMethod",
    "TrainConfig",
    "WindowKind",
    "load_config",
    "parse_config",
    "parse_run_config",
    "parse_setting",
]
