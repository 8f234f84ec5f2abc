from .cprs import CprsCritic as CprsCritic
from .llm import ModelCritic as ModelCritic
from .mixture import EmbeddingCritic as EmbeddingCritic
from .mixture import FittedCritic as FittedCritic
from .mixture import MixCritic as MixCritic
