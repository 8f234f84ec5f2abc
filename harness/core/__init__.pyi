from .digests import (
    canonical_json as canonical_json,
)
from .digests import (
    digest as digest,
)
from .digests import (
    digest_file as digest_file,
)
from .digests import (
    digest_tree as digest_tree,
)
from .errors import (
    BadInput as BadInput,
)
from .errors import (
    HarnessError as HarnessError,
)
from .errors import (
    LimitReached as LimitReached,
)
from .errors import (
    Refused as Refused,
)
from .errors import (
    Unreachable as Unreachable,
)
from .files import write_atomic as write_atomic
from .patch import (
    Edit as Edit,
)
from .patch import (
    EditOp as EditOp,
)
from .patch import (
    Patch as Patch,
)
from .score import (
    Outcome as Outcome,
)
from .score import (
    Score as Score,
)
from .score import (
    failed as failed,
)
from .score import (
    invalid as invalid,
)
from .score import (
    passed as passed,
)
from .task import Task as Task
from .trajectory import (
    AgentInfo as AgentInfo,
)
from .trajectory import (
    Observation as Observation,
)
from .trajectory import (
    ObservationResult as ObservationResult,
)
from .trajectory import (
    Step as Step,
)
from .trajectory import (
    ToolCall as ToolCall,
)
from .trajectory import (
    Trajectory as Trajectory,
)
from .usage import Usage as Usage
from .values import Option as Option
from .values import Value as Value
