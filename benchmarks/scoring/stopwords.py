"""Words that carry little meaning, so that overlap is counted over the rest."""

from typing import Final

__all__ = ["STOP_CHARACTERS", "STOP_WORDS"]

_ENGLISH: Final = """
a about actually after again all also am amazing an and any are aren as at awesome be became because been before
being both but by came can could couldn d definitely did didn do does doesn doing don done during each even ever
feel feeling felt few for from further get gets getting glad go goes going gone got great guess had happen happened
happening has hasn have haven having he hear heard her here hers hey him himself his how i if image in into is isn
it its itself just kind kinds know let like ll look looking looks lot lots love lovely m made make makes many may me
mean might mine more most much must my myself nice no nor not now of off oh on once one only or other our ours out
over own photo picture pretty re really right s said same say says see seen shall she should so some something sort
sound sounds still such sure t take takes tell than thank thanks that the their theirs them themselves then there
these they thing things think this those thought to told too took totally truly type types under until up us use
used uses using ve very want wanted was wasn way ways we well went were weren what when where which while who whom
whose why will with won would wouldn wow yeah yes you your yours yourself
"""
_CHINESE: Final = (
    "的了是在我你他她它们这那有和与就都也很吗呢吧啊呀哦嗯么什谁哪几多少个怎为何时候"
    "里上下到去来说给把被让会要能还又再不没"
)
STOP_WORDS: Final = frozenset(_ENGLISH.split())
STOP_CHARACTERS: Final = frozenset(_CHINESE)
