"""The boxes that choose what the page shows."""

from caet_opt.presenting.report.markup import Markup, joined, tag, text
from caet_opt.presenting.report.payload import search_text
from caet_opt.presenting.report.results import SETTINGS, Results


def filter_section(results: Results) -> Markup:
    """The boxes that choose models, and those of the settings that vary."""
    models = [
        tag("li", box("model", number, tag("span", label), keys=number), data_search=search_text(record))
        for number, (record, label) in enumerate(zip(results.models, results.labels, strict=True))
    ]
    settings = [
        fieldset(SETTINGS[name], [tag("li", box(f"parameter-{name}", value, tag("span", value))) for value in values])
        for name, values in results.parameters.items()
    ]
    return joined([fieldset("Models", models), *settings])


def fieldset(legend: str, items: list[Markup]) -> Markup:
    """A group of boxes."""
    return tag("fieldset", tag("legend", legend), tag("ul", *items))


def box(name: str, value: object, words: Markup, keys: int | None = None) -> Markup:
    """A ticked box with its words, and room for the marks of a model's series."""
    marks = [] if keys is None else [tag("span", class_="keys", data_keys=keys)]
    ticked = Markup(f'<input type="checkbox" name="{text(name)}" value="{text(value)}" checked>')
    return tag("label", ticked, *marks, words)
