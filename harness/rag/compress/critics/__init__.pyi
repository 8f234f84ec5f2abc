from .cprs import CprsCritic as CprsCritic
from .fused import EmbeddingCritic as EmbeddingCritic
from .fused import FusedCritic as FusedCritic
from .fused import MixCritic as MixCritic
from .llm import ModelCritic as ModelCritic
from .token import TokenCritic as TokenCritic
