"""The models of what threads do without a lock, or with several, which Spin searches through to the
last state.

Each says in its first comment what it models and with which sizes it is explored. The right one
must have no error; with each -DBROKEN_ that it knows, which leaves out one thing that the protocol
needs, Spin must find one.

Models that are as they were, with the functions that they model, when they were searched last
(searched.txt) are not searched again, unless LK_PROMELA is "all". With LK_PROMELA=record all are,
and searched.txt is written when none fails.
"""

import os

import pytest
import searched
from search import MODELS, broken_in, errors_in, explore, is_whole, sizes_of

MODE = os.environ.get("LK_PROMELA", "changed")
CHOSEN = [model for model in MODELS
          if MODE != "changed" or searched.recorded().get(model.stem) != searched.digest(model)]


def test_there_are_models_and_each_can_be_broken():
    assert len(MODELS) >= 8
    for model in MODELS:
        assert len(broken_in(model)) >= 2, model.name


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)
def test_what_a_model_names_exists(model):
    assert len(searched.modelled(model)) >= 5
    for named in searched.modelled(model):
        searched.text_of(*named)


def test_a_digest_follows_the_code(tmp_path, monkeypatch):
    (model,) = [model for model in MODELS if model.stem == "refs"]
    before = searched.digest(model)
    file, function = searched.modelled(model)[0]
    for named, _ in searched.modelled(model):
        copy = tmp_path / named
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((searched.SOURCE / named).read_text())
    monkeypatch.setattr(searched, "SOURCE", tmp_path)
    assert searched.digest(model) == before
    text = (tmp_path / file).read_text()
    (tmp_path / file).write_text(text + "/* elsewhere */\n")
    assert searched.digest(model) == before
    body = searched.text_of(file, function)
    (tmp_path / file).write_text(text.replace(body, body[:-1] + "  ;\n}"))
    assert searched.digest(model) != before
    (tmp_path / file).write_text(text.replace(f" {function}(", " another("))
    with pytest.raises(AssertionError, match=f"has no function {function}"):
        searched.digest(model)


if CHOSEN:  # pytest skips a test that has no parameters
    @pytest.mark.parametrize("model, size", [
        pytest.param(model, size, id=f"{model.stem}{''.join(size)}")
        for model in CHOSEN for size in sizes_of(model)])
    def test_no_error_can_be_reached(tmp_path, model, size):
        report = explore(model, tmp_path, size)
        assert is_whole(report), report
        assert errors_in(report) == 0, report

    @pytest.mark.parametrize("model, broken", [
        pytest.param(model, broken, id=f"{model.stem}-{broken}")
        for model in CHOSEN for broken in broken_in(model)])
    def test_an_error_is_found_where_the_protocol_is_broken(tmp_path, model, broken):
        for size in sizes_of(model):
            report = explore(model, tmp_path, [*size, f"-D{broken}"])
            if errors_in(report) > 0:
                return
            assert is_whole(report), report
        pytest.fail(f"{model.name} says nothing to -D{broken}")


def test_the_record_is_of_these_models(request):
    if MODE == "record" and request.session.testsfailed == 0:
        searched.record(MODELS)
    assert searched.recorded() == {model.stem: searched.digest(model) for model in MODELS}, \
        "a model or what it models has changed: `make promela` searches, and writes searched.txt"
