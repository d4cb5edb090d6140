"""The judge that needs no model: it scores by the question's metric."""

from benchmarks.datasets.model import Question
from benchmarks.judging.verdict import Judgement, verdict_of
from benchmarks.scoring.registry import METRICS

__all__ = ["RuleJudge"]


class RuleJudge:
    """A Judge by a deterministic metric; its id is the metric's. Raises KeyError for a metric that isn't known."""

    def __init__(self, metric_id: str) -> None:
        self.id = metric_id
        self._metric = METRICS[metric_id]

    async def judge(self, question: Question, answer: str) -> Judgement:
        """Return the metric's score of `answer`; it never waits and never fails."""
        return self.decide(question, answer)

    def decide(self, question: Question, answer: str) -> Judgement:
        """Return the same judgement outside an event loop; its reason is the measure beside the score, if any."""
        score, beside = self._metric.compute(question, answer), self._metric.beside
        reason = f"{beside(question, answer):.4f}" if beside else ""
        return Judgement(score=score, verdict=verdict_of(score), reason=reason, method="rule")
