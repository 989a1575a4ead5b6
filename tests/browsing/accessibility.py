"""Can everyone use a page? axe-core's rules, and a walk through it by the tabulator key."""

from importlib.resources import files

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

#: The level that laws ask for.
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
_RUN = """
    const [rules, done] = arguments;
    axe.run(document, rules).then(({violations}) => done(violations.map(({id, help, nodes}) => [
        id, help, nodes.map(({target, any}) => `${target} (${any.map(({message}) => message).join(' ')})`)])));
"""
_FOCUS = """
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    if (!element || element === document.body) return null;
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    const {dataset, className} = element, key = element.closest?.('[data-key]')?.dataset.key;
    return {id: element.id, name: dataset?.cluster ?? key ?? className,
            tag: element.localName, outlined: style.outlineStyle !== 'none' && style.outlineWidth !== '0px',
            visible: box.width > 0 && box.height > 0};
"""


def violations(browser, ignore=()):
    """Return what axe finds wrong with the page, as texts.

    ``ignore`` names rules that do not matter to the page.
    """
    browser.run(files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    actual = browser.driver.execute_async_script(_RUN, RULES)
    return [f"{rule}: {message}: {'; '.join(nodes[:5])}" for rule, message, nodes in actual if rule not in ignore]


def walk(browser, most=200):
    """Press Tab from the top of the page, and return what gets the focus: id, name, tag, outlined, visible."""
    browser.run("document.activeElement.blur(); scrollTo(0, 0)")
    reached = []
    for _ in range(most):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        focus = browser.run(_FOCUS)
        if focus is None:
            break
        reached.append(focus)
    return reached
