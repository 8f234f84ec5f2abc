from .batching import (
    BlindRow as BlindRow,
)
from .batching import (
    calls_of as calls_of,
)
from .batching import (
    check_batch_blind as check_batch_blind,
)
from .formats import (
    answers_format as answers_format,
)
from .formats import (
    pairs_format as pairs_format,
)
from .leaks import (
    Leak as Leak,
)
from .leaks import (
    holds_value as holds_value,
)
from .leaks import (
    is_polar as is_polar,
)
from .leaks import (
    leaks_of as leaks_of,
)
from .neutral import (
    Blinded as Blinded,
)
from .neutral import (
    Group as Group,
)
from .neutral import (
    blinded as blinded,
)
from .neutral import (
    neutral as neutral,
)
from .proposing import proposed as proposed
from .replies import (
    Answered as Answered,
)
from .replies import (
    Pair as Pair,
)
from .replies import (
    read_answers as read_answers,
)
from .replies import (
    read_pairs as read_pairs,
)
from .request import (
    BlindRequest as BlindRequest,
)
from .request import (
    ask_blind as ask_blind,
)
from .request import (
    windows as windows,
)
from .running import (
    Roles as Roles,
)
from .running import (
    check_blind as check_blind,
)
from .running import (
    open_roles as open_roles,
)
from .session import (
    MarchContext as MarchContext,
)
from .session import (
    ask_windows as ask_windows,
)
from .session import (
    judge_all as judge_all,
)
from .session import (
    march as march,
)
from .session import (
    settled as settled,
)
from .session import (
    solve_passages as solve_passages,
)
from .settings import CheckSettings as CheckSettings
from .vault import (
    Leaked as Leaked,
)
from .vault import (
    Vault as Vault,
)
from .voting import (
    best_support as best_support,
)
from .voting import (
    vote as vote,
)
