"""Every verb of the command line, in this process and as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import shellingham

import verosim
from tests.behaviour.command_line import SOURCE, run, start, wait_for_input
from verosim.cli.demo import DEMO_STEPS
from verosim.cli.main import main

HELP = Path(__file__).with_name("command_line_help")
VERBS = [
    "look", "fit", "update", "validate", "predict", "explain", "sample", "merge", "forget",
    "drift", "diagnose", "plot", "report", "info", "demo", "warm",
]  # fmt: skip


# Help ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["fit", "--help"]])
def test_help_loads_neither_numpy_nor_anything_above_it(words):
    code = (
        "import sys; from verosim.cli.main import main; "
        f"main({words!r}); print(*sorted(sys.modules), file=sys.stderr)"
    )
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert not loaded & {"numpy", "pyarrow", "scipy", "sklearn", "numba", "pandas", "narwhals"}
    ours = {name.split(".")[1] for name in done.stderr.split() if name.startswith("verosim.")}
    assert ours <= {"cli", "lazy", "terminal", "errors"}


def test_version():
    assert run("--version").stdout == f"verosim {verosim.__version__}\n"


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_has_an_example_and_is_the_recorded_text(verb):
    text = run(*verb.split(), "--help").stdout
    assert "Example:" in text
    recorded = HELP / f"{verb or 'verosim'}.txt"
    if os.environ.get("VEROSIM_RECORD"):
        HELP.mkdir(exist_ok=True)
        recorded.write_text(text)
    assert text == recorded.read_text()


# The verbs ----------------------------------------------------------------------------------------


def test_look_writes_the_schema_that_fit_reads(folder, tmp_path):
    found = run("look", folder / "visits.csv", "-t", "result", "--as", "customer=ignore", "-o",
                tmp_path / "s.json").stdout  # fmt: skip
    schema = str(verosim.Schema.load(folder / "schema.json"))
    assert found == schema.replace("columns={'pages': 'category'}", "--as 'pages=category'") + "\n"
    run("fit", folder / "visits.csv", "--schema", tmp_path / "s.json", "--model", "naivebayes",
        "--folds", 0, "-o", tmp_path / "m.verosim")  # fmt: skip
    same = verosim.load(tmp_path / "m.verosim")
    expected = verosim.load(folder / "visits.verosim")
    assert same.stats_.fingerprint() == expected.stats_.fingerprint()


def test_fit_chooses_a_model_and_keeps_its_scores(folder, tmp_path):
    out = json.loads(run("fit", folder / "visits.csv", "-t", "result", "--simple", "--json", "-o",
                         tmp_path / "m.verosim", "--note", "by=ana").stdout)  # fmt: skip
    assert out["rows"] == 300
    assert 0.6 < out["scores"]["accuracy"] < 1
    info = json.loads(run("info", tmp_path / "m.verosim", "--json").stdout)
    assert info["notes"] == {"by": "ana"}
    assert info["scores"]["accuracy"] == out["scores"]["accuracy"]
    assert info["scores"]["rows"] == 300
    mean, deviation = info["scores"]["log_density"]
    assert mean < 0 < deviation


def test_scores_of_an_old_model_do_not_stay_in_the_file(folder, tmp_path):
    path = tmp_path / "m.verosim"
    run("fit", folder / "visits.csv", "--schema", folder / "schema.json", "--model", "naivebayes",
        "-o", path)  # fmt: skip
    before = json.loads(run("info", path, "--json").stdout)["scores"]
    done = run("update", path, folder / "later.csv")
    assert "scores of the old model were removed" in done.stderr
    after = json.loads(run("info", path, "--json").stdout)["scores"]
    # The baseline is that of rows that are all still in the model.
    assert after == {"rows": 300, "log_density": before["log_density"]}
    run("forget", path, folder / "erased.csv")
    assert "scores" not in json.loads(run("info", path, "--json").stdout)
    assert b"accuracy" not in path.read_bytes()


def test_validate_states_how_far_the_density_fell(folder, tmp_path):
    path = tmp_path / "m.verosim"
    run("fit", folder / "visits.csv", "--schema", folder / "schema.json", "--model", "naivebayes",
        "-o", path)  # fmt: skip
    before, spread = verosim.info(path).scores.log_density
    far = tmp_path / "far.csv"
    header, *rows = csv.reader((folder / "later.csv").open())
    with far.open("w") as file:
        csv.writer(file).writerows([header, *([r[0], 20 + int(r[1]), *r[2:]] for r in rows)])
    words = ["validate", path, far]
    out = json.loads(run(*words, "--json").stdout)["log_density"]
    mean = verosim.load(path).log_density(far).mean()
    assert out["mean"] == pytest.approx(mean)
    assert out["fall"] == pytest.approx(before - mean)
    assert out["fall_in_deviations"] == pytest.approx((before - mean) / spread)
    assert "log p(x) fell by" in run(*words, "--at-most", "fall=100").stdout
    assert "Fall is" in run(*words, "--at-most", "fall=0.5", code=3).stderr


def test_fit_with_a_named_model_and_settings(folder, tmp_path):
    numbers = tmp_path / "numbers.csv"
    with (folder / "visits.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["minutes"]]
    numbers.write_text(
        "age,pages,result\n" + "".join(f"{r['age']},{r['pages']},{r['result']}\n" for r in rows)
    )
    text = run("fit", numbers, "-t", "result", "--model", "lda", "--set", "shrinkage=0.1", "-o",
               tmp_path / "m.verosim").stdout  # fmt: skip
    assert "LDA(shrinkage=0.1)" in text
    assert verosim.load(tmp_path / "m.verosim").shrinkage == 0.1


def test_predict_equals_the_library(folder, tmp_path):
    out = run("predict", folder / "visits.verosim", folder / "later.csv", "--keep", "customer")
    found = list(csv.DictReader(io.StringIO(out.stdout)))
    model = verosim.load(folder / "visits.verosim")
    assert [row["prediction"] for row in found] == model.predict(folder / "later.csv").tolist()
    expected = model.predict_table(folder / "later.csv").read_all()["p_buys"].to_pylist()
    assert [float(row["p_buys"]) for row in found] == expected
    assert found[0]["customer"] == "C150"


def test_predict_reads_stdin_and_writes_by_extension(folder, tmp_path):
    text = (folder / "later.csv").read_text()
    for name in ("out.parquet", "out.csv", "out.jsonl", "out.arrow", "out.tsv"):
        run("predict", folder / "visits.verosim", "-", "-o", tmp_path / name, given=text)
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 100
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 100
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["out.parquet", "out.csv", "out.jsonl", "out.arrow", "out.tsv"]
    )


def test_rows_of_a_database(folder, tmp_path):
    path = tmp_path / "shop.db"
    with (folder / "later.csv").open() as file:
        rows = [(r["age"], r["device"], r["minutes"] or None, r["pages"], r["result"])
                for r in csv.DictReader(file)]  # fmt: skip
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE visits (age REAL, device, minutes REAL, pages REAL, result)")
        db.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", rows)
    for url in (path, f"sqlite:///{path}"):
        out = run("validate", folder / "visits.verosim", "--db", url, "--query",
                  "SELECT * FROM visits", "--json")  # fmt: skip
        assert json.loads(out.stdout)["rows"] == 100


def test_validate_checks_scores_and_shows_groups(folder):
    words = ["validate", folder / "visits.verosim", folder / "later.csv"]
    model = verosim.load(folder / "visits.verosim")
    expected = model.score(folder / "later.csv", "result")
    out = json.loads(run(*words, "--json", "--by", "device", "--score", "roc_auc").stdout)
    assert out["scores"]["accuracy"] == pytest.approx(expected)
    assert out["by"]["device"] == ["laptop", "phone", "tablet"]
    assert sum(out["by"]["rows"]) == 100
    assert out["missing"]["minutes"] == pytest.approx(0.07)
    failed = run(*words, "--at-least", "accuracy=0.99", code=3)
    assert failed.stderr.startswith("error: Accuracy is 0.")
    run(*words, "--at-least", "accuracy=0.5", "--at-most", "calibration_error=0.5")
    run(*words, "--at-least", "nonsense=1", code=1)


def test_a_label_that_the_model_does_not_have_counts_as_wrong(folder, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age,device,minutes,pages,result\n60,laptop,30,9,buys\n30,phone,2,1,returns\n")
    out = json.loads(run("validate", folder / "visits.verosim", path, "--json").stdout)
    assert out["new_labels"] == {"returns": 1}
    assert out["scores"]["accuracy"] == 0.5


def test_explain_one_row_and_all_rows(folder, tmp_path):
    words = ["explain", folder / "visits.verosim", folder / "later.csv"]
    model = verosim.load(folder / "visits.verosim")
    found = verosim.explain(model, folder / "later.csv")
    assert run(*words, "--row", 3).stdout.startswith(f"{found[3]}\n")
    run(*words, "-o", tmp_path / "parts.parquet")
    assert pq.read_table(tmp_path / "parts.parquet")["contribution"].to_pylist() == pytest.approx(
        found.to_dict()["contribution"]
    )
    assert "has 100 rows" in run(*words, "--row", 100, code=1).stderr


def test_sample(folder):
    words = ["sample", folder / "visits.verosim", "-n", 5, "--seed", 1]
    first = run(*words, "--given", "age=40", "--class", "buys").stdout
    assert first == run(*words, "--given", "age=40", "--class", "buys").stdout
    rows = list(csv.DictReader(io.StringIO(first)))
    assert {row["result"] for row in rows} == {"buys"}
    assert {float(row["age"]) for row in rows} == {40.0}


def test_merge_is_the_model_of_all_rows(folder, tmp_path):
    run("merge", folder / "visits.verosim", folder / "later.verosim", "-o", tmp_path / "m.verosim")
    a, b = (verosim.load(folder / f"{name}.verosim") for name in ("visits", "later"))
    merged = verosim.load(tmp_path / "m.verosim")
    assert merged.stats_.fingerprint() == (a + b).stats_.fingerprint()
    run("merge", folder / "visits.verosim", "-o", tmp_path / "one.verosim", code=2)


def test_forget_and_update_replace_the_file_and_print_both_states(folder, model):
    library = verosim.load(model).forget(folder / "erased.csv", "result")
    out = json.loads(run("forget", model, folder / "erased.csv", "--json").stdout)
    assert out["before"]["rows"] == 300
    assert out["after"]["rows"] == 298
    assert out["after"]["fingerprint"] == library.stats_.fingerprint()
    assert verosim.load(model).stats_.fingerprint() == library.stats_.fingerprint()
    text = run("update", model, folder / "erased.csv").stdout
    assert [line.split()[:1] for line in text.splitlines()] == [
        ["before"], ["rows"], ["digits"], ["fingerprint"]
    ]  # fmt: skip
    info = json.loads(run("info", model, "--json").stdout)
    assert info["notes"] == {"source": "visits"}
    assert info["rows"] == 300
    assert [path.name for path in model.parent.iterdir()] == [model.name]


def test_info_states_the_hash_of_the_file(folder):
    import hashlib

    raw = (folder / "visits.verosim").read_bytes()
    text = run("info", folder / "visits.verosim").stdout
    assert hashlib.sha256(raw).hexdigest() in text
    assert verosim.loads(raw).stats_.fingerprint() in text


def test_drift_of_a_table_and_of_a_model_agree(folder):
    first = folder / "visits.verosim"
    by_rows = json.loads(run("drift", first, folder / "later.csv", "--json").stdout)
    by_model = json.loads(run("drift", first, folder / "later.verosim", "--json").stdout)
    assert by_rows == by_model
    assert by_rows["rows"] == [300, 100]
    same = json.loads(run("drift", first, first, "--json").stdout)
    assert {column["psi"] for column in same["columns"].values()} == {0.0}


def test_drift_on_rows_pairs_the_scores(folder):
    words = ["drift", folder / "visits.verosim", folder / "later.verosim", "--on"]
    rows = folder / "later.csv"
    found = json.loads(run(*words, rows, "--json").stdout)["on"]
    first, second = (verosim.load(folder / f"{name}.verosim") for name in ("visits", "later"))
    labels = [row["result"] for row in csv.DictReader(rows.open())]
    losses = []
    for model in (first, second):
        p = model.predict_proba(rows)
        at = [model.classes_.tolist().index(label) for label in labels]
        losses.append(-np.log(p[np.arange(len(p)), at]))
    d = losses[1] - losses[0]
    assert found["rows"] == 100
    assert found["scores"]["neg_log_loss"]["first"] == pytest.approx(-losses[0].mean())
    assert found["scores"]["neg_log_loss"]["difference"] == pytest.approx(-d.mean())
    assert found["scores"]["neg_log_loss"]["standard_error"] == pytest.approx(
        d.std(ddof=1) / 10, rel=1e-9
    )
    assert "second − first" in run(*words, rows).stdout
    run("drift", folder / "visits.verosim", rows, "--on", rows, code=2)


def test_diagnose_and_plot(folder, tmp_path):
    assert "rows per parameter" in run("diagnose", folder / "visits.verosim").stdout
    run("plot", folder / "visits.verosim", "--what", "nomogram", "-o", tmp_path / "n.svg")
    assert b"<svg" in (tmp_path / "n.svg").read_bytes()
    run("plot", folder / "visits.verosim", "--what", "confusion", "-o", "c.png", code=2)


@pytest.mark.slow
def test_demo_shows_the_whole_life():
    with start("demo") as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert [line for line in out.splitlines() if line.startswith("$ verosim ")] == [
        f"$ verosim {command}" for _, command in DEMO_STEPS
    ]


# Errors, pipes and files --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["fot"], 2),
        (["fit", "rows.csv"], 2),
        (["fit", "rows.csv", "-o", "m.verosim"], 2),
        (["predict", "none.verosim", "none.csv"], 1),
        (["info", __file__], 1),
        (["plot", "m.verosim", "--what", "nothing"], 2),
        (["validate", "m.verosim", "--db", "x.db"], 2),
    ],
)
def test_an_error_is_one_or_two_lines_with_a_hint(words, code, tmp_path):
    err = run(*words, code=code, cwd=tmp_path).stderr.splitlines()
    assert err[0].startswith("error: ")
    assert err[1].startswith("hint: ")
    assert len(err) == 2


def test_a_model_does_not_replace_a_table(folder, tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text((folder / "visits.csv").read_text())
    err = run("fit", path, "-t", "result", "-o", path, code=2).stderr
    assert "such as loans.verosim" in err
    assert path.read_text() == (folder / "visits.csv").read_text()
    err = run("predict", path, folder / "visits.verosim", code=2).stderr
    assert "Give the model first" in err


def test_hints_name_options(folder):
    err = run("fit", folder / "visits.csv", "-t", "result", "--model", "lda", "-o", "m.verosim",
              code=1).stderr  # fmt: skip
    assert "look --as 'customer=ignore' -o schema.json and --schema schema.json" in err


@pytest.mark.parametrize(
    "name", ["logistic", "svm", "perceptron", "least_squares", "onevsrest", "twin", "calibrated"]
)
def test_models_of_other_kinds_are_fitted_scored_and_predicted(folder, tmp_path, name):
    rows = tmp_path / "rows.csv"
    lines = [row for row in csv.DictReader((folder / "visits.csv").open()) if row["minutes"]]
    rows.write_text(
        "age,pages,result\n" + "".join(f"{r['age']},{r['pages']},{r['result']}\n" for r in lines)
    )
    model = tmp_path / "m.verosim"
    stable = ("--set", "averaged=true", "--set", "random_state=0") if name == "perceptron" else ()
    run("fit", rows, "-t", "result", "--model", name, *stable, "-o", model)
    out = json.loads(run("validate", model, rows, "-t", "result", "--json").stdout)
    assert out["scores"]["accuracy"] > 0.55
    found = list(csv.DictReader(io.StringIO(run("predict", model, rows).stdout)))
    assert {row["prediction"] for row in found} <= {"buys", "leaves"}
    assert len(found) == len(lines)
    right = sum(a["prediction"] == b["result"] for a, b in zip(found, lines, strict=True))
    assert out["scores"]["accuracy"] == pytest.approx(right / len(lines))
    if name in ("logistic", "svm"):
        assert "age" in run("explain", model, rows, "--row", 3).stdout
        refused = run("forget", model, rows, code=1).stderr
        assert "cannot forget" in refused
        assert "needs a generative classifier" in run("drift", model, rows, code=1).stderr


def test_a_number_model_refuses_categories(folder, tmp_path):
    err = run("fit", folder / "visits.csv", "-t", "result", "--model", "logistic", "-o",
              tmp_path / "m.verosim", code=1).stderr  # fmt: skip
    assert "needs numbers" in err
    assert "--model twin" in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell", "pwsh"])
def test_completion_is_printed_and_installed(shell, monkeypatch, tmp_path):
    """Of the shell that started the process, whatever has started the tests."""
    monkeypatch.setattr(shellingham, "detect_shell", lambda: (shell, f"/bin/{shell}"))
    assert "_VEROSIM_COMPLETE" in run("--show-completion").stdout
    if "p" not in shell:  # PowerShell itself says where its profile is
        monkeypatch.setenv("HOME", str(tmp_path))
        assert f"{shell} completion installed" in run("--install-completion").stdout
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert any("_VEROSIM_COMPLETE" in path.read_text() for path in files)


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_completion_needs_a_shell_that_it_knows(option, monkeypatch, tmp_path):
    """A scheduler, a container or another program may start the process without a shell."""

    def no_shell() -> None:
        raise shellingham.ShellDetectionFailure

    monkeypatch.setenv("HOME", str(tmp_path))
    for detect, what in (
        (no_shell, "This process was not started from a shell"),
        (lambda: ("tcsh", "/bin/tcsh"), "Completion is not available for tcsh"),
    ):
        monkeypatch.setattr(shellingham, "detect_shell", detect)
        done = run(option, code=2)
        first, second = done.stderr.splitlines()
        assert first.startswith(f"error: {what}")
        assert "bash, zsh, fish or PowerShell" in second
        assert done.stdout == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_completion_in_a_process_of_bash():
    command = shlex.join([sys.executable, "-m", "verosim", "--show-completion"])
    done = subprocess.run(
        ["bash", "-c", f"{command}; exit $?"],  # two commands, so that bash stays the parent
        env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "complete -o default -F _verosim_completion verosim" in done.stdout


def test_each_result_is_json(folder, model, tmp_path):
    rows = folder / "later.csv"
    for words in (
        ["look", rows, "-t", "result"], ["validate", model, rows], ["info", model],
        ["drift", model, rows], ["diagnose", model], ["explain", model, rows, "--row", 1],
        ["merge", model, model, "-o", tmp_path / "both.verosim"],
        ["update", model, rows], ["forget", model, rows],
    ):  # fmt: skip
        assert isinstance(json.loads(run(*words, "--json").stdout), dict), words
    for words in (["predict", model, rows], ["sample", model, "-n", 3], ["explain", model, rows]):
        lines = run(*words, "--json").stdout.splitlines()
        assert all(isinstance(json.loads(line), dict) for line in lines), words
        assert lines


@pytest.mark.slow
def test_real_tables(data, tmp_path):
    rows, model = data / "german_credit" / "german_credit.csv", tmp_path / "g.verosim"
    run("fit", rows, "-t", "class", "--effort", "fast", "-o", model)
    out = json.loads(
        run("validate", model, rows, "--by", "personal_status", "--at-least", "accuracy=0.7",
            "--json").stdout
    )  # fmt: skip
    assert sum(out["by"]["rows"]) == 1000
    rates = {"calibration error", "true positive good", "false positive good", "predicted good"}
    assert rates <= {*out["by"]}
    assert abs(out["log_density"]["fall_in_deviations"]) < 1
    found = json.loads(run("drift", model, rows, "--json").stdout)
    assert max(column["psi"] for column in found["columns"].values()) == 0.0
    assert len(found["columns"]) == 20
    text = data / "sms_spam" / "sms_spam.csv"
    if text.exists():
        run("look", text)


def test_debug_shows_the_traceback(folder, capsys):
    assert main(["info", str(folder / "visits.csv"), "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_quiet_prints_nothing(folder, model):
    out = run("forget", model, folder / "erased.csv", "--quiet")
    assert (out.stdout, out.stderr) == ("", "")


def test_cells_that_a_spreadsheet_could_run(folder, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        'customer,age,device,minutes,pages\n=1+1,40,phone,3,2\n-5,40,phone,3,2\n"@a,b",4,phone,3,2\n'
    )
    words = ["predict", folder / "visits.verosim", path, "--keep", "customer"]
    plain = run(*words)
    cells = [row["customer"] for row in csv.DictReader(io.StringIO(plain.stdout))]
    assert cells == ["=1+1", "-5", "@a,b"]
    assert "could run 2 cells" in plain.stderr
    safe = run(*words, "--spreadsheet")
    cells = [row["customer"] for row in csv.DictReader(io.StringIO(safe.stdout))]
    assert cells == ["'=1+1", "-5", "'@a,b"]
    assert safe.stderr == ""


@pytest.mark.slow
def test_a_closed_pipe_is_silence(folder, tmp_path):
    big = tmp_path / "big.csv"
    header, *rows = (folder / "later.csv").read_text().splitlines()
    big.write_text("\n".join([header, *(rows * 2000)]))
    with start("predict", folder / "visits.verosim", big) as process:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
    assert err == ""
    assert process.returncode == 0


@pytest.mark.slow
def test_ctrl_c_is_130_and_leaves_no_file(folder, tmp_path):
    with start(
        "predict", folder / "visits.verosim", "-", "-o", tmp_path / "out.csv", stdin=subprocess.PIPE
    ) as process:
        process.stdin.write((folder / "later.csv").read_text())
        process.stdin.flush()
        wait_for_input(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_to_write(folder, model):
    before = model.read_bytes()
    model.parent.chmod(0o500)
    try:
        err = run("forget", model, folder / "erased.csv", code=1).stderr
        assert "cannot be written" in err
        run("predict", model, folder / "later.csv", "-o", model.parent / "o.csv", code=1)
    finally:
        model.parent.chmod(0o700)
    assert model.read_bytes() == before
    assert [path.name for path in model.parent.iterdir()] == [model.name]


def test_a_folder_that_does_not_exist(folder, tmp_path):
    err = run(
        "predict", folder / "visits.verosim", folder / "later.csv", "-o", tmp_path / "no" / "o.csv",
        code=1,
    ).stderr  # fmt: skip
    assert "No such file or directory" in err
    assert len(err.splitlines()) == 2


def test_a_failure_in_the_middle_leaves_the_old_output(folder, tmp_path):
    path, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    out.write_text("old")
    header, *rows = (folder / "later.csv").read_text().splitlines()
    path.write_text("\n".join([header, *(rows * 1000), "1,2,3\n"]))  # a short record at the end
    run("predict", folder / "visits.verosim", path, "-o", out, code=1)
    assert out.read_text() == "old"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.csv", "rows.csv"]


@pytest.mark.slow
def test_of_two_writers_the_second_waits_or_is_refused(folder, model):
    import fcntl

    lock = model.with_name(f".{model.name}.lock")
    before = model.read_bytes()
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        err = run("forget", model, folder / "erased.csv", "--wait", 0, code=1).stderr
        assert "Another process is changing" in err
        assert model.read_bytes() == before
        with start("forget", model, folder / "erased.csv") as waiting:
            time.sleep(1.0)
            assert model.read_bytes() == before
            fcntl.flock(held, fcntl.LOCK_UN)
            assert waiting.wait(30) == 0
    assert verosim.load(model).class_count_.sum() == 298


@pytest.mark.slow
def test_updates_at_the_same_time_are_all_counted(folder, model):
    running = [start("update", model, folder / "erased.csv", "--wait", 60) for _ in range(4)]
    for process in running:
        process.communicate()
        assert process.returncode == 0
    assert verosim.load(model).class_count_.sum() == 308


@pytest.mark.slow
def test_a_real_table_in_processes(data, tmp_path):
    path, model = data / "penguins" / "penguins.csv", tmp_path / "p.verosim"
    for words in (
        ["fit", path, "-t", "species", "--effort", "fast", "-o", model],
        ["validate", model, path, "--at-least", "accuracy=0.95"],
        ["explain", model, path, "--row", 17],
        ["predict", model, path, "-o", tmp_path / "out.csv"],
    ):
        with start(*words) as process:
            _, err = process.communicate()
        assert process.returncode == 0, err
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert {"Adelie", "Chinstrap", "Gentoo"} == {row["prediction"] for row in rows}
