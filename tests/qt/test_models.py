"""The item models, each alone."""

import msgspec
import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.presentation.point_row import point_rows
from roofscope.app.presentation.view_filter import ViewFilter
from roofscope.app.presentation.why_limits import short_name
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.tables.library_model import LibraryModel, LibraryRole
from roofscope.app.window.tables.point_table import PointRole, PointTable
from roofscope.app.window.tables.row_store import RowStore
from roofscope.profiling.analysis.advice.case import Cases
from roofscope.profiling.analysis.advice.rules import advise
from roofscope.profiling.analysis.verdict import VerdictKind
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import TOUR, by_default
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.profiling.results.session import TraceInfo
from roofscope.profiling.results.session_reader import load
from roofscope.tests.recorded import kept
from roofscope.tests.sessions import make_session

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
CHECK = Qt.ItemDataRole.CheckStateRole
TITLES = [column.title for column in COLUMNS]


@pytest.fixture
def table(qtbot: QtBot) -> PointTable:
    return PointTable(SessionModel(make_session(full=True)))


@pytest.fixture
def library(qtbot: QtBot) -> LibraryModel:
    return LibraryModel(scan())


def keys(table: PointTable, title: str) -> list[object]:
    column = TITLES.index(title)
    return [table.index(row, column).data(PointRole.SORT_KEY) for row in range(table.rowCount())]


def test_the_table_keeps_the_rules_of_models(table: PointTable):
    tester = QAbstractItemModelTester(table, FATAL)
    table.sort(TITLES.index("Time"))
    table.set_filter("softmax bfloat16")
    table.set_filter("")
    assert tester.model() is table


@pytest.mark.parametrize("title", ["Time", "Of roof", "Kernel", "Speed-up", "Size"])
@pytest.mark.parametrize("order", list(Qt.SortOrder))
def test_sorting_puts_rows_in_order_and_the_unknown_last(table: PointTable, title: str, order: Qt.SortOrder):
    table.sort(TITLES.index(title), order)
    found = keys(table, title)
    known = [key for key in found if key is not None]
    assert len(known) > 20
    assert known == sorted(known, reverse=order is Qt.SortOrder.DescendingOrder)
    assert all(key is None for key in found[len(known) :])


def test_every_word_of_the_filter_must_match(table: PointTable):
    table.set_filter("SOFTMAX triton bfloat16")
    found = [table.point_at(row) for row in range(table.rowCount())]
    assert {(p.implementation.kernel, p.implementation.provider) for p in found} == {
        ("softmax", Provider.TRITON)
    }
    assert len(found) == 2  # two sizes
    assert table.total_count == 120


@pytest.mark.parametrize(
    "text",
    [
        *("triton_online", "softmax/triton_online", "triton-online", "compile default"),
        *("bf16", "bfloat16", "fp32", "128Mi", "n=134217728", "32Ki x 4Ki", "32Ki × 4Ki", "memory-bound"),
    ],
)
def test_the_filter_knows_every_name_that_the_program_uses(table: PointTable, text: str):
    table.set_filter(text)
    assert 0 < table.rowCount() < table.total_count


@pytest.mark.parametrize(
    ("text", "found"),
    [("layernorm", "layer_norm"), ("reduce-overhead", "softmax/compile_reduce_overhead")],
)
def test_the_library_is_searched_in_every_spelling(library: LibraryModel, text: str, found: str):
    kernels = [library.index(row, 0) for row in range(library.rowCount())]
    children = [
        library.index(row, 0, parent) for parent in kernels for row in range(library.rowCount(parent))
    ]
    hits = [i for i in (*kernels, *children) if text in i.data(LibraryRole.SEARCH)]
    keys = [i.data(LibraryRole.IMPLEMENTATION).key for i in hits if i.data(LibraryRole.PROVIDER)]
    assert found in [*keys, *(i.data() for i in hits)]


def test_speed_up_is_the_baselines_time_over_this_time(table: PointTable):
    eager = next(p for p in table._model.session.points if p.implementation.provider is Provider.EAGER)
    cuda = next(
        p
        for p in table._model.session.points
        if p.implementation.provider is Provider.CUDA and p.job.workload == eager.job.workload
    )
    row = table.row_for(cuda.number)
    assert row is not None
    assert row.speed_up is not None
    assert row.speed_up.ratio == pytest.approx(eager.measured.time.median_s / cuda.measured.time.median_s)
    assert row.speed_up.low < row.speed_up.ratio < row.speed_up.high
    table.pin(cuda.number)
    pinned = table.row_for(cuda.number)
    assert pinned is not None
    assert pinned.speed_up is not None
    assert pinned.speed_up.ratio == 1.0
    of_eager = table.row_for(eager.number)
    assert of_eager is not None
    assert of_eager.speed_up is not None
    assert of_eager.speed_up.ratio == pytest.approx(1 / row.speed_up.ratio)


def test_a_failed_row_tells_its_reason(table: PointTable):
    row = next(row for row in range(table.rowCount()) if table.index(row, 0).data(PointRole.HAS_FAILED))
    point = table.point_at(row)
    assert table.index(row, TITLES.index("Reason")).data() == point.outcome.message
    assert table.index(row, TITLES.index("Time")).data() == str(point.outcome.kind)
    assert point.outcome.message in table.index(row, 0).data(Qt.ItemDataRole.ToolTipRole)


def test_the_current_row_stays_with_its_point(table: PointTable):
    from PySide6.QtCore import QPersistentModelIndex

    kept = QPersistentModelIndex(table.index(7, 3))
    number = table.point_at(7).number
    table.sort(TITLES.index("Time"))
    assert table.point_at(kept.row()).number == number


class Counts:
    """How often a table's rows were inserted one at a time, put in another order, or all made again."""

    def __init__(self, table: PointTable) -> None:
        self.inserted: list[tuple[int, int]] = []
        self.orders = self.resets = 0
        table.rowsInserted.connect(lambda _parent, first, last: self.inserted.append((first, last)))
        table.layoutChanged.connect(lambda: setattr(self, "orders", self.orders + 1))
        table.modelReset.connect(lambda: setattr(self, "resets", self.resets + 1))


@pytest.mark.parametrize("title", ["", "Time", "Implementation", "Size"])
def test_a_point_that_arrives_is_one_row_more_at_its_place(qtbot: QtBot, title: str):
    session = make_session(full=True)
    coming, session.points = session.points[100:], session.points[:100]
    model = SessionModel(session)
    table = PointTable(model)
    tester = QAbstractItemModelTester(table, FATAL)
    if title:
        table.sort(TITLES.index(title), Qt.SortOrder.DescendingOrder)
    for row in range(table.rowCount()):
        table.row(row)
    counts, judged = Counts(table), table.rows.judged_count
    for point in coming:
        model.add_point(point)
        assert table.row_of(point.number) == counts.inserted[-1][0]
    for row in range(table.rowCount()):
        table.row(row)
    assert (len(counts.inserted), counts.orders, counts.resets) == (20, 0, 0)
    assert table.rows.judged_count - judged == 20  # each once, and none of those that were there
    whole = PointTable(SessionModel(msgspec.structs.replace(session)))
    whole.sort(TITLES.index(title) if title else -1, Qt.SortOrder.DescendingOrder)
    assert [table.row(row) for row in range(120)] == [whole.row(row) for row in range(120)]
    assert tester.model() is table


def test_a_point_that_the_filter_hides_is_counted_but_not_shown(table: PointTable):
    counts = Counts(table)
    table.set_filter("softmax")
    shown, point = table.rowCount(), table._model.session.points[0]
    table._model.add_point(msgspec.structs.replace(point, number=999))
    assert (table.rowCount(), table.total_count, counts.inserted) == (shown, 121, [])
    assert table.row_of(999) is None
    assert table.row_for(999) is not None


def test_another_pin_changes_the_figures_of_its_workload_only(table: PointTable):
    point = table._model.session.points[0]
    same = {p.number for p in table._model.session.points if p.job.workload == point.job.workload}
    before = {number: table.row_for(number) for number in range(1, 121)}
    judged = table.rows.judged_count
    told: list[frozenset[int] | None] = []
    table.rows_changed.connect(told.append)
    table.pin(point.number)
    assert told == [same]
    assert {n for n, row in before.items() if table.row_for(n) is not row} == same
    assert table.rows.judged_count == judged


def test_a_point_found_by_its_speed_up_stands_right_when_its_baseline_arrives(qtbot: QtBot):
    session = make_session(full=True)
    eager = next(p for p in session.points if p.implementation.provider is Provider.EAGER)
    session.points = tuple(point for point in session.points if point is not eager)
    model = SessionModel(session)
    table = PointTable(model)
    table.sort(TITLES.index("Speed-up"))
    model.add_point(eager)
    known = [key for key in keys(table, "Speed-up") if key is not None]
    assert known == sorted(known)
    arrived = table.row_for(eager.number)
    assert arrived is not None
    assert arrived.speed_up is not None


def test_what_is_too_much_at_once_is_sorted_when_it_is_known(qtbot: QtBot):
    session = make_session(full=True)
    copies = [
        msgspec.structs.replace(point, number=point.number + 120 * copy)
        for copy in range(4)
        for point in session.points
    ]
    session.points = tuple(copies)
    table = PointTable(SessionModel(session))
    table.sort(TITLES.index("Of roof"))
    table.set_filter("memory-bound")
    assert table.rows.judged_count == 0  # nobody waits for 480 verdicts
    qtbot.waitUntil(lambda: table.rows.is_whole and table.rowCount() > 0)
    found = keys(table, "Of roof")
    assert found == sorted(found, key=lambda key: (key is None, key))
    assert all("memory" in table.row(row).verdict.kind for row in range(table.rowCount()))


@pytest.mark.parametrize(
    "wanted",
    [
        ViewFilter(kernels=frozenset(("softmax", "gelu"))),
        ViewFilter(dtype=Dtype.FLOAT16),
        ViewFilter(hidden=frozenset((Provider.CUDA, Provider.EAGER))),
        ViewFilter(frozenset(("matmul",)), Dtype.BFLOAT16, frozenset((Provider.TRITON,)), text="eager"),
    ],
)
def test_the_table_shows_what_the_one_filter_keeps(table: PointTable, wanted: ViewFilter):
    table.set_view_filter(wanted)
    kept = [point.number for point in table._model.session.points if wanted.keeps(point, table.text_of)]
    assert 0 < len(kept) < 120
    assert [table.point_at(row).number for row in range(table.rowCount())] == kept
    table.set_view_filter(ViewFilter())
    assert table.rowCount() == 120


def test_a_trace_that_arrives_marks_its_row(table: PointTable):
    point = table._model.session.points[0]
    told: list[frozenset[int] | None] = []
    table.rows_changed.connect(told.append)
    table.sort(TITLES.index("Trace"))
    table._model.add_trace(TraceInfo(1, point.job, point.implementation, point.recorded_at, 9))
    assert told == [frozenset((point.number,))]
    assert table.row_of(point.number) == 0
    assert [table.index(row, TITLES.index("Trace")).data() for row in (0, 1)] == ["yes", ""]


def test_the_library_keeps_the_rules_of_models(library: LibraryModel):
    tester = QAbstractItemModelTester(library, FATAL)
    library.set_all(False)
    library.set_reasons(lambda _: "never")
    library.set_catalog(scan())
    assert tester.model() is library


def test_the_tour_is_ticked_at_first_with_what_a_plan_takes_by_default(library: LibraryModel):
    for row, kernel in enumerate(library.kernels):
        usual = tuple(found for found in kernel.implementations if by_default(kernel, found))
        is_first = kernel.spec.name in TOUR
        assert library.checked()[kernel.spec.name] == (usual if is_first else ())
        expected = Qt.CheckState.Checked if is_first else Qt.CheckState.Unchecked
        assert library.data(library.index(row, 0), CHECK) == expected


def test_a_further_mode_is_ticked_by_itself(library: LibraryModel):
    row = [kernel.spec.name for kernel in library.kernels].index("softmax")
    kernel = library.index(row, 0)
    stems = [found.stem for found in library.kernels[row].implementations]
    child = library.index(stems.index("compile_max_autotune"), 0, kernel)
    library.setData(kernel, Qt.CheckState.Unchecked, CHECK)
    library.setData(kernel, Qt.CheckState.Checked, CHECK)
    assert library.data(child, CHECK) == Qt.CheckState.Unchecked
    library.setData(child, Qt.CheckState.Checked, CHECK)
    assert "compile_max_autotune" in [found.stem for found in library.checked()["softmax"]]


def test_a_kernels_box_follows_and_leads_its_implementations(library: LibraryModel):
    kernel = library.index([found.spec.name for found in library.kernels].index(TOUR[0]), 0)
    child = library.index(1, 0, kernel)
    library.setData(child, Qt.CheckState.Unchecked, CHECK)
    assert library.data(kernel, CHECK) == Qt.CheckState.PartiallyChecked
    library.setData(kernel, Qt.CheckState.Unchecked, CHECK)
    assert library.checked()[kernel.data()] == ()
    library.setData(kernel, Qt.CheckState.Checked, CHECK)
    assert library.data(child, CHECK) == Qt.CheckState.Checked


def test_what_cannot_run_is_grey_left_out_and_says_why(library: LibraryModel):
    def reason(implementation: Implementation) -> str:
        return "Needs a GPU." if implementation.provider is Provider.CUDA else ""

    library.set_reasons(reason)
    kernel = library.index(0, 0)
    for row in range(library.rowCount(kernel)):
        child = library.index(row, 0, kernel)
        is_cuda = child.data(LibraryRole.PROVIDER) == Provider.CUDA
        assert bool(library.flags(child) & Qt.ItemFlag.ItemIsEnabled) is not is_cuda
        assert (child.data(Qt.ItemDataRole.ToolTipRole) == "Needs a GPU.") is is_cuda
    assert all(i.provider is not Provider.CUDA for found in library.checked().values() for i in found)
    library.set_reasons(lambda _: "")
    assert any(i.provider is Provider.CUDA for found in library.checked().values() for i in found)


def test_all_and_a_kernels_box_change_only_what_the_search_shows(library: LibraryModel):
    library.set_all(False)
    library.search("add")
    library.set_shown(True)
    ticked = {found.key for checked in library.checked().values() for found in checked}
    assert ticked
    assert all("add" in key for key in ticked)
    library.search("softmax triton")
    kernel = library.index([found.spec.name for found in library.kernels].index("softmax"), 0)
    assert library.data(kernel, CHECK) == Qt.CheckState.Unchecked
    library.setData(kernel, Qt.CheckState.Checked, CHECK)
    assert library.data(kernel, CHECK) == Qt.CheckState.Checked
    assert {found.provider for found in library.checked()["softmax"]} == {Provider.TRITON}
    library.search("softmax cuda")
    library.set_shown(False)
    assert {found.provider for found in library.checked()["softmax"]} == {Provider.TRITON}
    assert ticked <= {found.key for checked in library.checked().values() for found in checked}
    hidden = len(library.checked()["softmax"])
    assert kernel.data() == f"softmax (+{hidden} hidden)"
    library.search("")
    assert kernel.data() == "softmax"
    assert library.data(kernel, CHECK) == Qt.CheckState.PartiallyChecked


def test_a_search_for_what_no_plan_takes_by_itself_can_be_ticked_at_once(library: LibraryModel):
    library.set_all(False)
    library.search("softmax max autotune")
    library.set_shown(True)
    stems = [found.stem for checked in library.checked().values() for found in checked]
    assert stems
    assert all("max_autotune" in stem for stem in stems)


def test_a_root_has_no_parent(library: LibraryModel):
    assert library.parent(library.index(0, 0)) == QModelIndex()


@pytest.mark.parametrize(
    ("provider", "variant", "label"),
    [
        (Provider.EAGER, "", "eager PyTorch"),
        (Provider.COMPILE, "default", "torch.compile"),
        (Provider.COMPILE, "max_autotune", "compile max autotune"),
        (Provider.TRITON, "row_tiles", "Triton row tiles"),
        (Provider.CUDA, "packed", "CUDA packed"),
        (Provider.CUDA_EXT, "textbook", "CUDA extension textbook"),
        (Provider.LIBRARY, "cudnn", "cuDNN"),
        (Provider.LIBRARY, "of_mine", "of mine"),
    ],
)
def test_an_implementation_has_a_name_for_people(provider: Provider, variant: str, label: str) -> None:
    assert Implementation("softmax", provider, variant, "hash").label == label


def test_what_limits_a_point_is_what_the_sentences_name_and_a_search_finds_it() -> None:
    """Of some no roof is near, and no evidence of the verdict's says why; the advice's does."""
    session = load(kept("h200-tour"))
    cases = Cases(session)
    store = RowStore(session)
    column = next(one for one in COLUMNS if one.title == "Limited by")
    shown = {index: column.text(store.row(index)) for index in range(len(store))}
    unknown = [
        index
        for index in shown
        if store.points[index].measured and store.verdict(index).kind is VerdictKind.UNKNOWN
    ]
    named = [index for index in unknown if shown[index] != VerdictKind.UNKNOWN]
    assert named
    for index in named:
        case = cases.of(store.points[index])
        assert case
        limiter = advise(case).limiter
        assert limiter
        assert shown[index] == short_name(limiter)
    rows = {row.point.number: row.limited_by for row in point_rows(session, Provider.EAGER)}
    assert {store.points[index].number: text for index, text in shown.items()} == rows
    word = shown[named[0]].split()[0]
    found = store.kept(ViewFilter(text=word))
    assert found[named[0]]


def test_a_point_of_another_type_may_explain_one_that_was_shown_before() -> None:
    session = load(kept("h200-tour"))
    whole = RowStore(session)
    found = next(
        index
        for index in range(len(whole))
        if whole.points[index].measured
        and whole.verdict(index).kind is VerdictKind.UNKNOWN
        and whole.row(index).limited_by == "work an element"  # its time beside that in another type says so
    )
    point = whole.points[found]
    others = [
        one
        for one in session.points
        if one.implementation == point.implementation
        and one.job.workload.size_label == point.job.workload.size_label
        and one.job.workload.dtype is not point.job.workload.dtype
    ]
    session.points = tuple(one for one in session.points if one not in others)
    store = RowStore(session)
    index = store.index_of(point.number)
    assert index is not None
    before = store.row(index).limited_by
    session.points = (*session.points, *others)
    for one in others:
        store.add(one)
    assert before != "work an element"
    assert store.row(index).limited_by == "work an element"
