"""Test runs end to end below the wire, with the real pytest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from headway.scheduler.model import JobState, Priority
from headway.session.ports import Folder, InvalidArgumentError, Submitted
from headway.session.testing import Testing

from .conftest import Office, OpenOffice

HERE = {"tests": {"python": sys.executable, "args": ["-p", "no:cacheprovider"]}}


async def run(office: Office, arguments: dict[str, Any]) -> tuple[JobState, dict[str, Any], str]:
    """Return how a run ended, its result, and what its error says."""
    office.session.job_sources["tests"] = Testing(office.session)
    submitted = office.session.submit("tests", arguments)
    assert isinstance(submitted, Submitted)
    outcome = await submitted.handle
    result = dict(submitted.submission.result(outcome) or {})
    return outcome.state, result, outcome.error.message if outcome.error is not None else ""


@pytest.mark.asyncio
async def test_failing_tests_are_a_result_and_no_failed_job(office: OpenOffice) -> None:
    async with office(trusted=True, settings=HERE) as place:
        (place.root / "test_a.py").write_text("def test_good(): pass\ndef test_bad(): assert 0\n")
        state, result, _ = await run(place, {})
        assert state is JobState.COMPLETED
        assert (result["passed"], result["failed"]) == (1, 1)
        state, result, _ = await run(place, {"targets": ["test_a.py::test_good"], "extraArgs": ["-q"]})
        assert (result["passed"], result["failed"]) == (1, 0)


@pytest.mark.asyncio
async def test_an_untrusted_workspace_is_not_run_and_the_error_says_so(office: OpenOffice) -> None:
    async with office(trusted=False, settings=HERE) as place:
        (place.root / "conftest.py").write_text("open('ran', 'w').close()\n")
        (place.root / "test_a.py").write_text("def test_good(): pass\n")
        state, _, error = await run(place, {})
        assert state is JobState.FAILED
        assert "not trusted" in error
        assert not (place.root / "ran").exists()


@pytest.mark.asyncio
async def test_a_run_that_cannot_begin_is_a_failed_job_with_the_reason(office: OpenOffice) -> None:
    async with office(trusted=True, settings=HERE) as place:
        (place.root / "conftest.py").write_text("raise RuntimeError('broken here')\n")
        state, _, error = await run(place, {})
        assert state is JobState.FAILED
        assert "broken here" in error


@pytest.mark.asyncio
async def test_an_interpreter_that_is_not_there_is_said(office: OpenOffice) -> None:
    for group, key in (("tests", "python"), ("python", "interpreter")):
        async with office(trusted=True, settings={group: {key: "/no/such/python"}}) as place:
            state, _, error = await run(place, {})
            assert state is JobState.FAILED
            assert "/no/such/python does not exist" in error
            assert f"headway.{group}.{key}" in error


@pytest.mark.asyncio
async def test_a_program_that_is_no_python_is_named(office: OpenOffice, tmp_path: Path) -> None:
    """As with a placeholder that only says where a Python can be had."""
    stub = tmp_path / "python"
    stub.write_text("#!/bin/sh\nexit 49\n")
    stub.chmod(0o755)
    async with office(trusted=True, settings={"tests": {"python": str(stub)}}) as place:
        state, _, error = await run(place, {})
        assert state is JobState.FAILED
        assert "exit code 49" in error
        assert str(stub) in error


@pytest.mark.asyncio
async def test_a_job_is_low_unless_asked_otherwise_and_wrong_arguments_are_named(office: OpenOffice) -> None:
    async with office(trusted=True, settings=HERE) as place:
        testing = Testing(place.session)
        assert testing.submission({}, title=None, priority=None).job.priority is Priority.LOW
        made = testing.submission({}, title="mine", priority=Priority.NORMAL).job
        assert (made.title, made.priority) == ("mine", Priority.NORMAL)
        with pytest.raises(InvalidArgumentError, match="target"):
            testing.submission({"target": "x"}, title=None, priority=None)
        with pytest.raises(InvalidArgumentError, match=r"targets\[0\]"):
            testing.submission({"targets": [1]}, title=None, priority=None)


@pytest.mark.asyncio
async def test_of_two_projects_side_by_side_only_the_one_that_is_asked_about_is_read(office: OpenOffice) -> None:
    async with office(trusted=True, settings=HERE) as place:
        # The projects have modules of equal names, and lie in a folder that has a configuration and a conftest, too.
        around = place.root.parent
        (around / "pytest.ini").write_text("[pytest]\ntestpaths = neighbour workspace\n")
        other = around / "neighbour"
        other.mkdir()
        for folder in (around, other, place.root):
            note = f"import pathlib\npathlib.Path({str(around)!r}, 'read-{folder.name}').touch()\n"
            (folder / "conftest.py").write_text(note)
        for folder in (other, place.root):
            (folder / "shop.py").write_text(f"NAME = {folder.name!r}\n")
            (folder / "test_shop.py").write_text(f"import shop\ndef test_it(): assert shop.NAME == {folder.name!r}\n")
        state, result, _ = await run(place, {})
        assert (state, result["passed"]) == (JobState.COMPLETED, 1)
        assert [path.name for path in around.glob("read-*")] == ["read-workspace"]
        # Also where both are folders of the workspace.
        place.session.change_folders(added=[Folder(uri=other.as_uri(), name="neighbour", path=other)], removed=[])
        state, result, _ = await run(place, {"targets": [str(place.root / "test_shop.py")]})
        assert (state, result["passed"]) == (JobState.COMPLETED, 1)
        assert [path.name for path in around.glob("read-*")] == ["read-workspace"]
