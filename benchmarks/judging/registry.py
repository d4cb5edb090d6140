"""The judges that ask a chat model, by id with version."""

from collections.abc import Mapping
from typing import Final

from benchmarks.judging.call import CallJudge
from benchmarks.judging.graded import AtmJudge, BeamJudge, ClBenchJudge
from benchmarks.judging.judge import ChatJudge, LongMemEvalJudge, PersonaMemJudge

__all__ = ["JUDGES"]

JUDGES: Final[Mapping[str, type[CallJudge]]] = {
    judge.id: judge for judge in (ChatJudge, LongMemEvalJudge, PersonaMemJudge, BeamJudge, ClBenchJudge, AtmJudge)
}
