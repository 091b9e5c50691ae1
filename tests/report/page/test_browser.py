"""Pages in a real browser: every plot, no complaint, all that a user can do."""

from __future__ import annotations

import dataclasses
import json
import re
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tunesmith as ts
from tests.helpers.report.browser import (
    Browser,
    browser,
    choose,
    contrast,
    draw_all,
    text_of,
    violations,
    why_not,
)
from tests.helpers.report.views import HOSTILE, sample
from tunesmith.decoders.pool import PoolDecoder
from tunesmith.report.page.assemble import PageOptions, view_of
from tunesmith.report.page.html import page_of
from tunesmith.report.page.run.reading import read_run
from tunesmith.report.page.serve import Follower, Making, Server
from tunesmith.report.page.view import RoundsView

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(why_not() is not None, reason=f"no browser: {why_not()}"),
]

SECTIONS = [
    "head",
    "cautions",
    "rounds",
    "lengths",
    "weights",
    "surface",
    "map",
    "sentences",
    "pairs",
    "path",
    "certificate",
    "settings",
    "missing",
]
UNSEEN = {"recommendation": "keep-start", "sentences": 50, "higher_is_better": True}
DRAWN = "[...document.querySelectorAll('.chart')].every(c => c.drawn && c.querySelector('.mark'))"
RANGE = "return document.getElementById('surface-plot').frames[0].xRange"


@pytest.fixture(scope="module")
def window():
    with browser() as made:
        yield made


@pytest.fixture
def page(window: Browser, tmp_path: Path):
    """Open a page, and see at the end that nobody complained."""

    def open_page(text: str = "", view=None) -> Browser:
        path = tmp_path / "page.html"
        path.write_text(page_of(view or sample(text)), encoding="utf-8")
        window.open(path)
        return window

    window.size(1280, 900)
    window.dark(False)
    window.complaints()
    yield open_page
    assert window.complaints() == []


def test_every_section_and_every_plot_is_there(page):
    window = page()
    assert window.run("return [...document.querySelectorAll('section')].map(s => s.id)") == SECTIONS
    draw_all(window)
    assert window.run(f"return {DRAWN}")
    found = window.run(
        "return [...document.querySelectorAll('.chart')].map(c => ["
        "c.closest('section').id, c.querySelectorAll('.mark path, .mark image, .mark rect').length,"
        "c.getAttribute('aria-label').length])"
    )
    assert [name for name, _, _ in found] == [
        *("rounds", "lengths", "weights", "weights", "surface", "map", "pairs", "pairs"),
    ]
    assert all(marks > 0 and words > 10 for _, marks, words in found)


def test_the_verdict_is_the_first_line(page):
    window = page()
    first = window.run("return document.querySelector('#head h1').nextElementSibling.textContent")
    assert first == sample().summary.verdict
    assert window.run("return document.querySelector('#verdict').className") == "up"
    view = sample()
    old = dataclasses.replace(
        view, summary=dataclasses.replace(view.summary, verdict=""), verdict=None
    )
    assert not page(view=old).run("return !!document.querySelector('#verdict')")


def test_bounds_by_angle(page):
    bounds = [(1.0, 30.5), (5.0, 33.25)]
    curve = [{"degrees": d, "best": 30.0, "bound": b, "gap": b - 30.0} for d, b in bounds]
    proof = {"best": 30.0, "bound": 33.25, "gap": 3.25, "within": "5 degrees of these weights"}
    shown = {"metric": "wer", "score": 30.0, "certificate": proof, "curve": curve}
    window = page(view=dataclasses.replace(sample(), certified=shown))
    words = text_of(window, "#certificate")
    assert "within 5 degrees of these weights do better than 33.25" in words
    assert "the gap is 3.25" in words
    draw_all(window)
    line = window.run(
        "const m = document.querySelector('#certificate .chart').spec.panels[0].marks"
        ".find(m => m.kind === 'points'); return [m.x, m.y]"
    )
    assert line == [[0, 1, 5], [30, 30.5, 33.25]]


def test_the_picture_agrees_with_its_axes(page):
    """Ticks stand where their numbers are, and steps at their scores."""
    window = page()
    draw_all(window)
    curve = sample().surfaces.curves[0]
    ticks, steps, frame = window.run(
        """
        const chart = document.getElementById('surface-plot');
        const box = (e) => { const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2] };
        const f = chart.querySelector('.frame').getBoundingClientRect();
        return [
          [...chart.querySelectorAll('.axes text[text-anchor=end], .axes text[text-anchor=middle]:not(.x-title)')]
            .filter((e) => !e.closest('[transform]')).map((e) => [e.getAttribute('text-anchor'), e.textContent, ...box(e)]),
          chart.querySelector('.mark.steps path').getAttribute('d'),
          [f.left, f.top, f.width, f.height]];
        """  # noqa: E501
    )
    left, top, width, height = frame
    places = {kind: [] for kind in ("end", "middle")}
    for kind, text, x, y in ticks:
        share = (x - left) / width if kind == "middle" else (top + height - y) / height
        places[kind].append((float(text.replace("−", "-")), share))
    low, high = curve.window
    assert len(places["middle"]) > 1 < len(places["end"])
    for value, share in places["middle"]:
        assert share == pytest.approx((value - low) / (high - low), abs=3 / width)
    # Upwards the scale follows from two of its ticks; the levels of the steps are the scores.
    (a, at_a), (b, at_b), *_ = places["end"]
    scale = (at_b - at_a) / (b - a)
    offset = window.run(
        "return document.querySelector('#surface-plot svg').getBoundingClientRect().top"
    )
    levels = [float(y) for y in re.findall(r"(?:M[\d.]+ |V)([\d.]+)", steps)]
    shown = [a + ((top + height - offset - y) / height - at_a) / scale for y in levels]
    assert shown == pytest.approx(list(curve.scores), abs=3 / height / abs(scale))


def test_the_pointer_shows_the_interval_under_it(page):
    window = page()
    draw_all(window)
    curve = sample().surfaces.curves[0]
    window.run("document.getElementById('surface-plot').scrollIntoView({block: 'center'})")
    left, top, _, height = window.run(
        "const b = document.querySelector('#surface-plot .frame').getBoundingClientRect();"
        "return [b.left, b.top, b.width, b.height].map(Math.round)"
    )
    window.mouse(("move", left + 3, top + height - 3), ("move", left + 4, top + height - 4))
    shown = text_of(window, "#surface-plot .tip").replace("−", "-")
    assert f"{curve.scores[0]:.4f}" in shown
    assert str(curve.edges[0]) in shown


def test_a_chart_can_be_saved(page):
    window = page()
    draw_all(window)
    saved = window.run(
        """
        const made = [];
        const old = URL.createObjectURL;
        URL.createObjectURL = (blob) => { made.push(blob); return "#"; };
        document.querySelector('#surface-plot [aria-label="Save as SVG"]').click();
        URL.createObjectURL = old;
        return made[0].text();
        """
    )
    root = ElementTree.fromstring(saved)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in saved


def test_the_numbers_are_those_of_the_view(page):
    window = page()
    head = text_of(window, "#head")
    for number in ("28.20", "+3.20 (better), from 25.00", "−0.30 (worse), from 24.40", "51.10"):
        assert number in head
    assert "gap is 0.019" in text_of(window, "#certificate")
    view = sample()
    draw_all(window)
    bars = window.run(
        "const [panel] = document.querySelector('#weights .chart').spec.panels;"
        "return panel.marks.flatMap("
        "m => m.values.map((value, k) => [m.name, panel.y.ticks[k][1], value]))"
    )
    expected = [
        [which, row.feature, pytest.approx(2.0 * getattr(row, which))]
        for which in ("start", "tuned")
        for row in view.weights.rows
    ]
    assert sorted(bars, key=str) == sorted(expected, key=lambda one: str(one[:2]))


def test_replicates_are_points_and_have_a_mean(page):
    runs = RoundsView(
        "seed", ("1", "2", "3"), {"tune": (40.0, 42.0, 44.0)}, {}, 1, is_ordered=False
    )
    window = page(view=dataclasses.replace(sample(), replicates=runs))
    draw_all(window)
    assert "Means over 3 runs: Tune 42.00, deviation 2." in text_of(window, "#replicates")
    (trace,) = window.run(
        "return document.querySelector('#replicates .chart').spec.panels[0].marks"
        ".filter(m => m.kind !== 'rule').map(m => [m.kind, m.y])"
    )
    assert trace == ["points", [40, 42, 44]]


def test_sets_that_are_not_looked_at_between_are_dotted(page):
    series = {"tune": (40.0, 41.0, 42.0), "best so far": (40.0, 41.0, 42.0)}
    rows = RoundsView("climb", ("0", "1", "2"), {**series, "dev": (39.0, None, 38.0)}, {}, 2)
    window = page(view=dataclasses.replace(sample(), rounds=rows))
    draw_all(window)
    traces = window.run(
        "return document.querySelector('#rounds .chart').spec.panels[0].marks"
        ".filter(m => m.kind === 'line').map(m => [m.name, m.points, m.dash, m.color])"
    )
    assert [trace[:3] for trace in traces] == [
        ["Tune", True, "solid"],
        ["best so far", False, "solid"],
        ["Dev", True, "dot"],
    ]
    assert len({trace[3] for trace in traces}) == 3
    assert not window.run("return !!document.getElementById('lengths')")


def test_all_charts_are_printed(page):
    window = page()
    window.wait(DRAWN)
    window.tell("Page.printToPDF", {})
    assert window.run(f"return {DRAWN}")


def test_names_from_the_right_leave_the_sentence_as_it_is(page):
    view = sample()
    curve = dataclasses.replace(view.surfaces.curves[0], feature="\u05d0\u05d1\u202b\u05d2")
    window = page(
        view=dataclasses.replace(view, surfaces=dataclasses.replace(view.surfaces, curves=(curve,)))
    )
    assert text_of(window, "#plateau-words").startswith(
        "The weight of \u2068\u05d0\u05d1\u05d2\u2069 is "
    )


def test_dragging_zooms_and_a_double_click_goes_back(page):
    window = page()
    draw_all(window)
    window.run("document.getElementById('surface-plot').scrollIntoView({block: 'center'})")
    whole = window.run(RANGE)
    box = window.run(
        "const b = document.querySelector('#surface-plot .frame').getBoundingClientRect();"
        "return [b.left, b.top, b.width, b.height].map(Math.round)"
    )
    left, top, width, height = box
    middle = top + height // 2
    begin, end = left + width // 4, left + width // 2
    window.mouse(("Down", begin, middle), ("move", begin + 40, middle), ("Up", end, middle))
    window.wait(f"{RANGE[7:]}[0] > {whole[0] + 1e-6}")
    low, high = window.run(RANGE)
    share = (whole[1] - whole[0]) / width
    assert low == pytest.approx(whole[0] + share * (begin - left), abs=3 * share)
    assert high == pytest.approx(whole[0] + share * (end - left), abs=3 * share)
    press = [(kind, begin, middle) for kind in ("Down", "Up", "Down", "Up")]
    window.mouse(*press)
    window.wait(f"Math.abs({RANGE[7:]}[0] - {whole[0]}) < 1e-9")
    window.click("#surface .together button:nth-child(2)")
    curve = sample().surfaces.curves[0]
    window.wait(f"Math.abs({RANGE[7:]}[0] - {curve.close[0]}) < 1e-9")


def test_a_feature_is_chosen_by_the_list_or_by_the_table(page):
    window = page()
    draw_all(window)
    choose(window, "#surface select", "WordPenalty0")
    assert "WordPenalty0" in text_of(window, "#plateau-words")
    curve = sample().surfaces.curves[1]
    assert window.run(RANGE) == pytest.approx(list(curve.window))
    # The narrowest first.
    widths = re.findall(r"([\d.]+) %\t", text_of(window, "#surface table"))
    assert [float(w) for w in widths[::2]] == sorted(float(w) for w in widths[::2])
    window.run(
        "[...document.querySelectorAll('#surface td button')]"
        ".find(b => b.textContent === 'TranslationModel0_2').click()"
    )
    assert "stays the same" in text_of(window, "#plateau-words")


def test_the_map_of_any_two_features_can_be_chosen(page):
    window = page()
    draw_all(window)
    title = "return document.getElementById('map-plot').spec.panels[0].{}.title"
    pixel = "return document.getElementById('map-plot').spec.panels[0].marks[0].values"
    before = window.run(pixel)
    assert (len(before), len(before[0])) == (16, 24)
    choose(window, "#map label:nth-child(2) select", "TranslationModel0_1")
    assert window.run(title.format("y")) == "weight of TranslationModel0_1"
    choose(window, "#map label:nth-child(1) select", "WordPenalty0")
    window.wait("document.getElementById('map-plot').drawn === true")
    assert window.run(title.format("x")) == "weight of WordPenalty0"
    assert window.run(title.format("y")) == "weight of LM0"
    # It is stored the other way round, and turned.
    turned = window.run(pixel)
    assert [list(row) for row in zip(*turned, strict=True)] == before


def test_sentences_are_filtered_searched_sorted_and_looked_into(page):
    window = page()
    items = "return [...document.querySelectorAll('#sentences li button')].map(b => b.sentence)"
    shown = [sentence.id for sentence in sample().sentences[0].shown]
    assert window.run(items) == shown
    window.click("#sentences [aria-label=Show] button:nth-child(3)")
    worse = [s.id for s in sample().sentences[0].shown if s.influence < 0]
    assert window.run(items) == worse
    window.click("#sentences [aria-label=Show] button:nth-child(1)")
    choose(window, "#sentences label:nth-of-type(2) select", "worst first")
    assert window.run(items)[0] == "1"
    window.click("#sentences input")
    window.keys("text 7")
    assert window.run(items) == ["7"]
    detail = text_of(window, "#sentence")
    for words in ("Sentence 7: the change alone worsens", "la source 7", "another one"):
        assert words in detail
    assert window.run("return document.querySelector('#sentence del').textContent") == "old"
    assert window.run("return document.querySelector('#sentence ins').textContent") == "new"
    decorated = "return getComputedStyle(document.querySelector('#sentence {}')).textDecorationLine"
    assert window.run(decorated.format("del")) == "line-through"
    assert window.run(decorated.format("ins")) == "underline"
    shares = sample().sentences[0].shown[7].candidates[1].contributions
    bars = "return [...document.querySelectorAll('#shares .bar')].length"
    assert window.run(bars) == len(shares)
    window.click("#sentence tbody tr:nth-child(1) button")
    assert "This one is chosen" in text_of(window, "#sentence")
    choose(window, "#sentences label:nth-of-type(1) select", "Dev")
    assert "0 of 50 outputs changed" in text_of(window, "#sentences")


def test_nothing_is_wider_than_the_screen(page):
    window = page("_" + "long" * 40)
    window.size(360, 800)
    draw_all(window)
    window.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert window.run("return document.documentElement.scrollWidth") <= 360
    chart = window.run(
        "return document.querySelector('#rounds .chart svg').getBoundingClientRect().width"
    )
    assert 0.6 * 360 < chart <= 360


@pytest.mark.parametrize("is_dark", [False, True])
def test_light_and_dark_can_both_be_read(page, is_dark):
    window = page()
    window.dark(is_dark)
    texts = ["h1", ".lead", ".card .what", ".up", ".down", ".caution p", ".caution b", "del", "ins"]
    texts += ["nav a", ".badge", "button[aria-pressed=true]", "td", "th", ".quiet", "td button"]
    for selector in texts:
        assert contrast(window, selector) >= 4.5, selector
    paper = window.run("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is not is_dark
    ink = "return getComputedStyle(document.querySelector('#rounds .axes text')).fill"
    window.wait("document.querySelector('#rounds .chart').drawn === true")
    before = window.run(ink)
    window.click("#theme")
    assert window.run("return getComputedStyle(document.body).backgroundColor") != paper
    assert window.run(ink) != before


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("is_dark", [False, True])
def test_nothing_keeps_anyone_from_reading_it(page, width, is_dark):
    window = page()
    window.size(width, 900)
    window.dark(is_dark)
    draw_all(window)
    window.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert violations(window) == []


def test_sets_that_were_not_tuned_on_come_first(page):
    window = page()
    shown = "return [...document.querySelectorAll('{}')].map(e => e.textContent)"
    assert window.run(shown.format("#head .card .what")) == [
        "Test, bleu",
        "Dev, bleu",
        "Tune, bleu",
    ]
    assert window.run(shown.format("#gains .gains > div:nth-child(3n + 1)")) == [
        "Test",
        "Dev",
        "Tune",
    ]
    assert window.run(shown.format("#gains .n")) == ["−0.30", "+2.40", "+3.20"]


def test_changes_share_an_axis_that_begins_at_the_start(page):
    view = sample()
    verdict = {**UNSEEN, "low": -0.5, "high": 0.1, "gain": -0.3, "on": "test"}
    window = page(view=dataclasses.replace(view, verdict=verdict))
    boxes = window.run(
        "const box = (s) => [...document.querySelectorAll(`#gains ${s}`)].map(e => {"
        "  const b = e.getBoundingClientRect(); return [b.left, b.right] });"
        "return { zero: box('.zero'), bar: box('.bar'), range: box('.range') }"
    )
    assert boxes["zero"][0] == boxes["zero"][1] == boxes["zero"][2]
    zero = boxes["zero"][0][0]
    (worse, _, better), (line,) = boxes["bar"], boxes["range"]
    assert worse[1] == pytest.approx(zero, abs=1.5)
    assert better[0] == pytest.approx(zero, abs=1.5)
    unit = (better[1] - better[0]) / 3.2
    assert zero - worse[0] == pytest.approx(0.3 * unit, abs=1.5)
    assert zero - line[0] == pytest.approx(0.5 * unit, abs=1.5)
    assert line[1] - zero == pytest.approx(0.1 * unit, abs=1.5)
    assert "Test −0.50 to +0.10" in text_of(window, "#gains")


def test_numbers_of_a_column_have_equally_many_decimals(page):
    window = page()
    window.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    columns = window.run(
        "return [1, 2, 3].map(k => [...document.querySelectorAll("
        "`#weights tbody tr td:nth-child(${k + 1})`)].map(e => e.textContent))"
    )
    for column in columns:
        assert len(column) > 2
        assert len({len(text.partition(".")[2]) for text in column}) == 1


@pytest.mark.parametrize("text", [" ".join(HOSTILE), HOSTILE[4]])
def test_hostile_texts_are_shown_as_texts(page, text):
    window = page(text)
    draw_all(window)
    assert window.run("return window.hurt === undefined")
    assert window.run(
        "return [...document.querySelectorAll('script')].length === 2"
        " && !document.querySelector('#page img, #page iframe, #page a, #page script')"
        " && [...document.querySelectorAll('svg a')].length === 0"
    )
    pictures = {**{k: 0x2400 + k for k in range(32)}, 0x7F: 0x2421, 0x2028: 0x2424, 0x2029: 0x2424}
    seen = re.sub("[\ud800-\udfff\x80-\x9f\u202d\u202e]", "\ufffd", text.translate(pictures))
    assert (
        window.run("return document.querySelector('#sentence dd bdi').textContent")
        == f"la source 0 {seen}"
    )
    assert window.run("return document.querySelectorAll('section').length") == len(SECTIONS)
    assert window.run("return document.querySelector('#plateau-words').textContent.length > 20")


def test_right_to_left_texts_leave_their_surroundings_alone(page):
    window = page("\u202eأب")
    assert window.run(
        "return [...document.querySelectorAll('dd bdi')].every(e => e.dir === 'auto')"
        " && getComputedStyle(document.querySelector('#sentence dt')).direction === 'ltr'"
    )


def test_the_keyboard_reaches_what_the_pointer_does(page):
    window = page()
    assert window.run(
        "return [...document.querySelectorAll('[click], .clickable')].length === 0"
        " && [...document.querySelectorAll('select, input')].every(e => e.closest('label'))"
    )
    window.run("document.querySelector('#sentences li:nth-child(2) button').focus()")
    window.keys("\ue007")  # enter
    assert "Sentence 1" in text_of(window, "#sentence")
    window.keys("\ue004")  # tab
    assert window.run("return document.activeElement.sentence") == "2"


def test_a_view_with_little_in_it_is_a_page_too(page):
    view = sample()
    bare = dataclasses.replace(
        view,
        warnings=(),
        rounds=None,
        surfaces=None,
        maps=None,
        sentences=(),
        pairs=(),
        certificate=None,
        path=None,
        missing=(),
        weights=dataclasses.replace(view.weights, rounds=(), rows=()),
    )
    window = page(view=bare)
    found = window.run("return [...document.querySelectorAll('section')].map(s => s.id)")
    assert found == ["head", "cautions", "settings"]
    assert "Nothing was found" in text_of(window, "#cautions")


def test_a_live_page_follows_its_run(window, tmp_path):
    run = tmp_path / "run"
    views = [sample(running=True)]
    follower = Follower(run, Making(lambda: views[-1], lambda: views[-1]), interval=0.1)
    with Server(follower) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            window.size(1280, 900)
            window.open(server.url)
            assert "not there yet" in text_of(window, "#waiting")
            run.mkdir()
            follower.look()
            follower.look()
            window.wait("document.getElementById('state')?.textContent === 'running'")
            choose(window, "#surface select", "WordPenalty0")
            old = views[-1]
            rounds = dataclasses.replace(old.rounds, unit="epoch")
            summary = dataclasses.replace(old.summary, state="ended")
            views.append(dataclasses.replace(old, rounds=rounds, summary=summary))
            (run / "round-2.json").write_text("{}")
            follower.look()
            follower.look()
            window.wait("document.getElementById('state').textContent === 'ended'")
            assert "Scores by epoch" in text_of(window, "#rounds")
            assert "WordPenalty0" in text_of(window, "#plateau-words")
            assert window.complaints() == []
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
    window.wait("document.getElementById('state').textContent === 'the server has ended'")
    window.open("about:blank")
    window.complaints()


@pytest.fixture(scope="module")
def real_run(bundled, tmp_path_factory):
    """A real run: PRO on lists that a decoder gives, with a held-out set beside."""
    folder = tmp_path_factory.mktemp("real") / "run"
    pool = ts.read(bundled / "tune.nbest.gz", references=bundled / "tune.ref")
    decoder = PoolDecoder.of(pool, nbest_size=20)
    every = ts.Inputs.read(None, bundled / "tune.ref", decoder.sentences())
    tune = ts.Inputs(every.sentences[:80], every.references[:80])
    dev = ts.Inputs(every.sentences[80:120], every.references[80:120])
    start = ts.read_weights(bundled / "weights.initial").weights
    ts.Loop(rounds=3).run(
        decoder, ts.PRO(), tune, metric="bleu", start=start, dev=dev, work_dir=folder
    )
    return folder


def test_the_page_of_a_real_run(page, real_run):
    record = read_run(real_run)
    view = view_of(record, PageOptions(map_features=3))
    window = page(view=view)
    found = window.run("return [...document.querySelectorAll('section')].map(s => s.id)")
    wanted = {"head", "cautions", "rounds", "lengths", "weights", "surface", "map"}
    assert wanted | {"sentences", "pairs", "settings"} <= set(found)
    draw_all(window)
    assert window.run(f"return {DRAWN}")
    series = window.run(
        "return document.querySelector('#rounds .chart').spec.panels[0].marks"
        ".filter(m => m.kind === 'line').map(m => [m.name, m.y])"
    )
    rounds = json.loads((real_run / "result.json").read_text())["rounds"]
    by_name = dict(series)
    assert by_name["Tune"] == pytest.approx([one["score"] for one in rounds])
    assert by_name["Dev"] == pytest.approx([one["dev_score"] for one in rounds])
    # The surface goes through the score at the tuned weight.
    curve = view.surfaces.curves[0]
    at = window.run(
        "const m = document.getElementById('surface-plot').spec.panels[0].marks"
        ".find(m => m.kind === 'steps');"
        "return m.values[m.ends.findLastIndex(x => x <= arguments[0])]",
        curve.weight,
    )
    assert at == pytest.approx(curve.score, abs=1e-4)
    sentence = view.sentences[0].shown[0]
    texts = window.run(
        "return [...document.querySelectorAll('#sentence dd')].map(e => e.innerText)"
    )
    words = [" ".join(text for text, _ in pieces) for pieces in (sentence.before, sentence.after)]
    assert texts[-2:] == words
    window.size(360, 800)
    assert window.run("return document.documentElement.scrollWidth") <= 360
