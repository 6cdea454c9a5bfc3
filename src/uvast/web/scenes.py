"""What changes to a video have to know besides its document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from uvast.exchange import Event, FrameTimes
    from uvast.web.changes import Origin


@dataclass(frozen=True)
class Scene:
    """What is known about a video.

    Args:
        times: the frames that clicks are on, one click per frame; None if unknown.
        seconds: the video's length, if known.
        origins: gives the segments that can be accepted, in order, by where they come from; called
            only if a change needs them.
    """

    times: FrameTimes | None = None
    seconds: float | None = None
    origins: Callable[[Origin], Sequence[Event]] = lambda _: ()

    def inside(self, start: float, end: float | None, video: str) -> tuple[float, float | None]:
        """Times within the video; an end may be a little late, since players are."""
        length = self.seconds
        if end is not None:
            end = end if length is None or end > length + 1 else min(end, length)
            if end <= start:
                raise InputError(
                    f"a segment from {start:.3f} to {end:.3f} s",
                    where=video,
                    remedy="end it after its start",
                )
        last = start if end is None else end
        if length is not None and last > length:
            raise InputError(
                f"{last:.2f} s is after the end of the video at {length:.2f} s",
                where=video,
                remedy="choose a time inside it",
            )
        return start, end

    def segments(self, origin: Origin, video: str) -> Sequence[Event]:
        """The segments that can be accepted."""
        found = self.origins(origin)
        if not found:
            what = "prediction" if origin == "prediction" else "pseudo-segmentation"
            remedy = "segment it first" if origin == "prediction" else "click at least one action"
            raise InputError(f"has no {what}", where=video, remedy=remedy)
        return found
