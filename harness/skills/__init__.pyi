from .apply import apply_patch as apply_patch
from .archive import pack as pack
from .benchmark import (
    Attempt as Attempt,
)
from .benchmark import (
    benchmark_of as benchmark_of,
)
from .benchmark import (
    evals_of as evals_of,
)
from .benchmark import (
    history_of as history_of,
)
from .creator import (
    Benchmark as Benchmark,
)
from .creator import (
    Evals as Evals,
)
from .creator import (
    History as History,
)
from .creator import (
    creator_text as creator_text,
)
from .creator import (
    read_creator as read_creator,
)
from .diff import diff as diff
from .export import (
    Exported as Exported,
)
from .export import (
    Target as Target,
)
from .export import (
    export as export,
)
from .export import (
    export_creator as export_creator,
)
from .export import (
    install as install,
)
from .gated import refuse_ungated as refuse_ungated
from .history import (
    Version as Version,
)
from .history import (
    list_versions as list_versions,
)
from .history import (
    read_log as read_log,
)
from .history import (
    read_version as read_version,
)
from .history import (
    record_version as record_version,
)
from .history import (
    version_skill as version_skill,
)
from .history import (
    versions_path as versions_path,
)
from .io import (
    load_skill as load_skill,
)
from .io import (
    new_skill as new_skill,
)
from .io import (
    parse_skill as parse_skill,
)
from .lint import lint_text as lint_text
from .markdown import (
    Section as Section,
)
from .markdown import (
    find_sections as find_sections,
)
from .markdown import (
    sections as sections,
)
from .provenance import (
    Explanation as Explanation,
)
from .provenance import (
    Provenance as Provenance,
)
from .provenance import (
    explain as explain,
)
from .provenance import (
    explain_file as explain_file,
)
from .provenance import (
    explain_place as explain_place,
)
from .provenance import (
    provenance_of as provenance_of,
)
from .provenance import (
    provenance_path as provenance_path,
)
from .provenance import (
    read_provenance as read_provenance,
)
from .provenance import (
    write_provenance as write_provenance,
)
from .receipts import receipt_files as receipt_files
from .review import (
    Decision as Decision,
)
from .review import (
    Review as Review,
)
from .review import (
    ReviewRow as ReviewRow,
)
from .review import (
    open_review as open_review,
)
from .review import (
    read_review as read_review,
)
from .review import (
    review_form as review_form,
)
from .review import (
    review_path as review_path,
)
from .review import (
    review_rows as review_rows,
)
from .review import (
    rows_of as rows_of,
)
from .review import (
    write_review as write_review,
)
from .reviewed import (
    Reviewed as Reviewed,
)
from .reviewed import (
    apply_review as apply_review,
)
from .reviewed import (
    decisions as decisions,
)
from .reviewed import (
    take_decisions as take_decisions,
)
from .reviewed import (
    undecided as undecided,
)
from .rollback import (
    Rollback as Rollback,
)
from .rollback import (
    rollback as rollback,
)
from .scripts import (
    Execute as Execute,
)
from .scripts import (
    admit_scripts as admit_scripts,
)
from .scripts import (
    scripts_of as scripts_of,
)
from .sources import (
    Quote as Quote,
)
from .sources import (
    Source as Source,
)
from .sources import (
    matching as matching,
)
from .sources import (
    read_sources as read_sources,
)
from .sources import (
    sources_of as sources_of,
)
from .summary import summary as summary
from .tokens import (
    TOKENIZER as TOKENIZER,
)
from .tokens import (
    count_tokens as count_tokens,
)
from .types import (
    SKILL_FILE as SKILL_FILE,
)
from .types import (
    AppliedEdit as AppliedEdit,
)
from .types import (
    ApplyResult as ApplyResult,
)
from .types import (
    Limits as Limits,
)
from .types import (
    Problem as Problem,
)
from .types import (
    Skill as Skill,
)
from .validate import validate as validate
from .write import write_skill as write_skill
