"""The attention report in a browser: views, filters, keys, saving, and isolation.

The page runs and loads nothing but itself.
"""

import json
import shutil

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from bert_tf.cli.model_settings import ModelSettings
from run.analysis import page
from run.analysis.observing import Observer
from run.analysis.questions import Question
from run.analysis.settings import AttentionReportSettings
from tests.settings import resolved

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.large,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER),
        reason=(
            "chromium or chromedriver is missing: "
            "on Debian, run `apt-get install chromium chromium-driver`"
        ),
    ),
]
EVIL = "<script>document.title='run'</script> the cat"


def observe(folder, *questions):
    """Returns the Observer of a model, and its Observations of Questions."""
    settings = AttentionReportSettings(
        ModelSettings(init_checkpoint=str(folder)),
        output_file=str(folder / "report"),
        text=("the cat",),
    )
    observer = Observer(resolved(settings.replace_values({"max_seq_length": 16})))
    return observer, [each for question in questions for each in observer(question)]


@pytest.fixture(scope="module")
def seen(shifting):
    """The Observer and the Observations of a pair and of markup, by the model of `shifting`."""
    return observe(shifting, Question("the cat , unaffable", "dog ran"), Question(EVIL))


@pytest.fixture(scope="module")
def browser(seen, toys, tmp_path_factory):
    """A browser with the report, a local file.

    The directory also contains a report of a masked LM.
    """
    folder = tmp_path_factory.mktemp("pages")
    page.write(str(folder / "report.html"), "<b>toy</b>", seen[0].heads, seen[1])
    observer, observations = observe(toys / "pretrained", Question("the line"))
    page.write(str(folder / "masked.html"), "masked", observer.heads, observations)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--window-size=1200,900",
        "--disable-dev-shm-usage",
    ):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER)) as driver:
        driver.folder = folder
        driver.get(f"file://{folder}/report.html")
        yield driver


@pytest.fixture(autouse=True)
def clean(browser):
    """Begins each test with the first view, and ends it without errors and requests."""
    browser.get(
        f"file://{browser.folder}/report.html#text=0&view=grid&layer=0&head=0&filter=all&cls=1&sep=1&join=0"
    )
    yield
    assert browser.get_log("browser") == []
    requested = [
        message["params"]["request"]["url"]
        for message in (
            json.loads(entry["message"])["message"] for entry in browser.get_log("performance")
        )
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert {url.split(":")[0] for url in requested} <= {"file", "data", "blob"}
    assert {
        url.split("#")[0].rpartition("/")[2] for url in requested if url.startswith("file")
    } <= {"report.html", "masked.html"}


def find(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def get_status(browser):
    return find(browser, "#status").text


def get_lines(browser):
    """Returns the weights of the lines, a dict with keys (from, to)."""
    return {
        (int(each["from"]), int(each["to"])): float(each["weight"])
        for each in browser.execute_script(
            "return [...document.querySelectorAll('#view line')].map(each => ({...each.dataset}))"
        )
    }


def get_words(browser):
    return [each.text for each in browser.find_elements(By.CSS_SELECTOR, "#view [data-row] text")]


def press(browser, *keys):
    for key in keys:
        find(browser, "#view").send_keys(key)


def test_all_heads(browser, seen):
    buttons = browser.find_elements(By.CSS_SELECTOR, ".grid button")
    labels = [button.get_attribute("aria-label") for button in buttons]
    assert labels[0].startswith(
        f"Layer 0, head 0: previous token {seen[1][0].measures[0, 3]:.2f}, entropy"
    )
    assert labels[1].startswith("Layer 0, head 1: next token")
    assert find(browser, "h1 small").text == "<b>toy</b>"
    buttons[1].click()
    assert find(browser, "#tab-lines").get_attribute("aria-selected") == "true"
    assert find(browser, "#head").get_property("value") == "1"


def test_lines_are_the_models_numbers(browser, seen):
    find(browser, "#tab-lines").click()
    drawn = get_lines(browser)
    attention = seen[1][0].attention[0]
    strong = np.argwhere((page.quantize_attention(attention) / 255) ** 2 >= 0.01)
    assert set(drawn) == {(int(row), int(column)) for row, column in strong}
    for pair, weight in drawn.items():
        assert weight == pytest.approx(attention[pair], abs=0.0045)
    assert get_words(browser) == seen[1][0].pieces
    browser.find_elements(By.CSS_SELECTOR, "#view [data-row]")[3].click()
    assert {row for row, _ in get_lines(browser)} == {3}
    assert "from , to cat 1.00" in get_status(browser)


def test_filters_and_switches(browser, seen):
    """The pair is [CLS] the cat , un ##aff ##able [SEP] dog ran [SEP]."""
    find(browser, "#tab-lines").click()
    for choice, first, second in (
        ("aa", range(8), range(8)),
        ("ab", range(8), range(8, 11)),
        ("ba", range(8, 11), range(8)),
        ("bb", range(8, 11), range(8, 11)),
    ):
        find(browser, f"#filter option[value={choice}]").click()
        rows = [
            int(each.get_attribute("data-row"))
            for each in browser.find_elements(By.CSS_SELECTOR, "[data-row]")
        ]
        assert rows == list(first)
        assert {to for _, to in get_lines(browser)} <= set(second)
    find(browser, "#filter option[value=all]").click()
    find(browser, "#cls").click()
    find(browser, "#sep").click()
    assert {token for pair in get_lines(browser) for token in pair} == {1, 2, 3, 4, 5, 6, 8, 9}
    find(browser, "#cls").click()
    find(browser, "#sep").click()
    find(browser, "#join").click()
    assert get_words(browser) == [
        "[CLS]",
        "the",
        "cat",
        ",",
        "unaffable",
        "[SEP]",
        "dog",
        "ran",
        "[SEP]",
    ]
    joined = get_lines(browser)
    attention = seen[1][0].attention[0]
    assert joined[4, 4] == pytest.approx(attention[4:7, 4:7].sum(axis=1).mean(), abs=0.006)
    assert joined[5, 4] == pytest.approx(attention[7, 4:7].sum(), abs=0.006)


def test_keys(browser):
    # The last two keys have no effect: there are no more heads and layers in that direction.
    press(browser, "2", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert get_status(browser).startswith("Layer 0, head 1")
    press(browser, Keys.ARROW_LEFT, "n", "n")
    assert "from the to [CLS]" in get_status(browser)
    assert "token=1" in browser.current_url
    press(browser, Keys.ESCAPE, "w")
    assert "from" not in get_status(browser)
    assert find(browser, "#join").is_selected()
    press(browser, "]")
    assert "text=1" in browser.current_url
    assert not find(browser, "#filter").is_displayed()  # The second is a single text.


def test_markup_is_shown_and_not_run(browser):
    press(browser, "]")
    assert find(browser, "#reading").text == EVIL
    assert browser.title == "Attention"
    press(browser, "2", "w")
    assert get_words(browser)[1:4] == ["<", "script", ">"]


def test_matrix_and_measures_of_heads(browser, seen):
    find(browser, "#tab-matrix").click()
    webdriver.ActionChains(browser).move_to_element_with_offset(
        find(browser, "#view image"), 0, 0
    ).perform()
    assert get_status(browser).startswith("from ")
    find(browser, "#tab-heads").click()
    browser.execute_script(
        "const m = document.getElementById('measure'); m.value = 3;"
        "m.dispatchEvent(new Event('change'))"
    )
    cells = browser.find_elements(By.CSS_SELECTOR, "#view [data-head]")
    assert [cell.text for cell in cells] == [f"{value:.2f}" for value in seen[1][0].measures[:, 3]]
    cells[1].click()
    assert get_status(browser).startswith("Layer 0, head 1")


def test_candidates_of_a_masked_lm(browser):
    assert not find(browser, "#tab-words").is_displayed()
    browser.get(f"file://{browser.folder}/masked.html#view=words")
    rows = browser.find_elements(By.CSS_SELECTOR, "#view tr")
    # The cells are the token itself and ten candidates.
    assert len(rows[1].find_elements(By.TAG_NAME, "td")) == 11
    press(browser, "1", Keys.ARROW_DOWN)
    assert get_status(browser).startswith("Layer 1")


@pytest.mark.parametrize("view", ["grid", "lines", "matrix", "heads", "words"])
def test_each_view_is_saved(browser, view):
    if view == "words":
        browser.get(f"file://{browser.folder}/masked.html")
    find(browser, f"#tab-{view}").click()
    path = browser.folder / f"text0_layer0_head0_{view}.svg"
    find(browser, "#save").click()
    for _ in range(200):
        if path.exists() and not list(browser.folder.glob("*.crdownload")):
            break
        browser.execute_async_script("setTimeout(arguments[0], 25)")
    tag, num_texts, has_variables = browser.execute_script(
        "const root = new DOMParser().parseFromString(arguments[0], "
        "'image/svg+xml').documentElement;return [root.tagName, "
        "root.querySelectorAll('text').length, root.outerHTML.includes('var(')]",
        path.read_text(),
    )
    assert tag == "svg"
    assert num_texts > 2
    assert not has_variables


def test_no_view_is_wider_than_a_phone(browser):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        for view in ("grid", "lines", "heads", "matrix"):
            find(browser, f"#tab-{view}").click()
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 360, (
                view
            )
        browser.get(f"file://{browser.folder}/masked.html#view=words")
        assert find(browser, "#view").get_property("scrollWidth") <= 360
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_controls_have_names(browser):
    unnamed = browser.execute_script(
        "return [...document.querySelectorAll('button, select, input, "
        "[role=button]')].filter((each) =>!(each.textContent.trim() || "
        "each.getAttribute('aria-label') || each.labels?.length)).map((each) => each.outerHTML)"
    )
    assert unnamed == []
