from .actions import (
    parse_action as parse_action,
)
from .actions import (
    parse_code as parse_code,
)
from .describe import (
    describe as describe,
)
from .describe import (
    find_trajectory as find_trajectory,
)
from .formats import (
    FORMATS as FORMATS,
)
from .formats import (
    detect_format as detect_format,
)
from .formats import (
    open_trajectories as open_trajectories,
)
from .official import (
    from_log as from_log,
)
from .official import (
    render as render,
)
from .official import (
    to_log as to_log,
)
from .official_folder import (
    OfficialRun as OfficialRun,
)
from .official_folder import (
    OfficialScores as OfficialScores,
)
from .official_folder import (
    mean_hard as mean_hard,
)
from .official_folder import (
    mean_soft as mean_soft,
)
from .official_folder import (
    read_logs as read_logs,
)
from .official_folder import (
    read_run as read_run,
)
from .official_folder import (
    read_scores as read_scores,
)
from .official_log import (
    LogResult as LogResult,
)
from .official_log import (
    Message as Message,
)
from .official_log import (
    OfficialLog as OfficialLog,
)
from .official_log import (
    dump_jsonl as dump_jsonl,
)
from .official_log import (
    dump_markdown as dump_markdown,
)
from .official_log import (
    parse_jsonl as parse_jsonl,
)
from .official_log import (
    parse_markdown as parse_markdown,
)
from .official_log import (
    parse_with_sidecar as parse_with_sidecar,
)
from .official_log import (
    sidecar as sidecar,
)
from .openai_messages import (
    from_openai as from_openai,
)
from .openai_messages import (
    to_openai as to_openai,
)
from .recorded import read_recorded as read_recorded
from .secrets import redact_trajectory as redact_trajectory
from .sharegpt import (
    from_sharegpt as from_sharegpt,
)
from .sharegpt import (
    to_sharegpt as to_sharegpt,
)
from .stats import (
    TrajectoryStats as TrajectoryStats,
)
from .stats import (
    collect_stats as collect_stats,
)
from .stats import (
    tokens_of as tokens_of,
)
from .store import (
    TrajectoryStore as TrajectoryStore,
)
from .store import (
    dump as dump,
)
from .text import content_text as content_text
from .transfer import (
    EXPORTS as EXPORTS,
)
from .transfer import (
    ExportReport as ExportReport,
)
from .transfer import (
    ImportReport as ImportReport,
)
from .transfer import (
    export_trajectories as export_trajectories,
)
from .transfer import (
    import_trajectories as import_trajectories,
)
from .untrusted import fence_untrusted as fence_untrusted
