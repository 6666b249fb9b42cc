"""Task modules of every form load in a worker; what is wrong with one is said with file and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ale.errors import TaskError
from ale.task.discover import Workflow
from ale.task.instances import list_instances

WorkflowOf = Callable[..., Workflow]

REST = """
async def start(task, session): pass
async def evaluate(task, session): return 1.0
"""

FORMS = {
    "names of its own": (
        (
            "from ale.task import Task\n"
            "def load(): return [Task('x', 'one'), Task(description='y', instance='two', metadata={'n': 2})]" + REST
        ),
        ["one", "two"],
    ),
    "names from VARIANTS": (
        (
            "from ale.task import Task\n"
            "VARIANTS = [('small', {'n': 1}), ('large', {'n': 2})]\n"
            "def load(): return [Task(description=f'count {s}') for _, s in VARIANTS]" + REST
        ),
        ["small", "large"],
    ),
    "names from metadata": (
        (
            "from ale.task import Task\n"
            "def load(): return [Task(description='x', metadata={'variant_name': v}) for v in 'ab']" + REST
        ),
        ["a", "b"],
    ),
    "one instance without a name": (
        ("from ale.task import Task\ndef load(): return [Task(description='x')]" + REST),
        ["base"],
    ),
    "several without names": (
        ("from ale.task import Task\ndef load(): return [Task(description='x'), Task(description='y')]" + REST),
        ["instance1", "instance2"],
    ),
    "class form": (
        (
            "from ale.task import Task\n"
            "class Edit(Task):\n"
            "    def stage_inputs(self, vm_session): return {}\n"
            "    def evaluate(self, vm_session): return 1.0\n"
        ),
        ["base"],
    ),
    "class form with variants and an __init__ of its own": (
        (
            "from ale.task import Task\n"
            "VARIANTS = [('a', {'n': 1}), ('b', {'n': 2})]\n"
            "class Edit(Task):\n"
            "    def __init__(self): self.x = 1\n"
            "    def stage_inputs(self, vm_session): return {}\n"
            "    def evaluate(self, vm_session): return 1.0\n"
        ),
        ["a", "b"],
    ),
    "public decorators, called": (
        (
            "import cua_bench as cb\n"
            "@cb.tasks_config(split='train')\n"
            "def load() -> list[cb.Task]:\n"
            "    return [cb.Task(description='x', metadata={}, computer={'provider': 'computer', "
            "'setup_config': {'os_type': 'linux'}})]\n"
            "@cb.setup_task(split='train')\n"
            "async def start(task_cfg, session: cb.DesktopSession): pass\n"
            "@cb.evaluate_task(split='train')\n"
            "async def evaluate(task_cfg, session: cb.DesktopSession) -> list[float]: return [1.0]\n"
        ),
        ["base"],
    ),
    "public decorators, bare and on other names": (
        (
            "import cua_bench as cb\n"
            "@cb.tasks_config\n"
            "def my_tasks(): return [cb.Task(description='x', metadata={}, task_id='t')]\n"
            "@cb.setup_task\n"
            "async def prepare(task_cfg, session): pass\n"
            "@cb.evaluate_task\n"
            "async def judge(task_cfg, session): return [1.0]\n"
        ),
        ["base"],
    ),
}


@pytest.mark.parametrize("form", FORMS)
async def test_every_form_loads(workflow_of: WorkflowOf, form: str) -> None:
    main, names = FORMS[form]
    assert [instance.name for instance in await list_instances(workflow_of(main))] == names


BROKEN = {
    "a syntax error": ("x = 1\ndef load(:\n", 2, "SyntaxError"),
    "an import that fails": ("import json\nimport no_such_module_at_all\n", 2, "and files beside main.py"),
    "an error in load()": ("def load():\n    return 1 / 0\n" + REST, 2, "ZeroDivisionError"),
    "an error below load()": ("def load():\n    helper()\ndef helper():\n    {}['key']\n" + REST, 4, "KeyError"),
    "sys.exit()": ("import sys\nsys.exit(3)\n", 2, "sys.exit(3)"),
    "nothing at all": ("x = 1\n", None, "neither load() nor a subclass of Task"),
    "no evaluate()": ("def load(): return []\ndef start(t, s): pass\n", None, "there is no evaluate()"),
    "an empty list": ("def load(): return []\n" + REST, None, "at least one Task"),
    "something else": ("def load(): return [1]\n" + REST, None, "int 1"),
    "two of one name": (
        "from ale.task import Task\ndef load(): return [Task('x', 'a'), Task('y', 'a')]" + REST,
        None,
        "two instances are called 'a'",
    ),
    "a name that is a path": (
        "from ale.task import Task\ndef load(): return [Task('x', '../a')]" + REST,
        None,
        "'../a'",
    ),
    "a class without evaluate()": (
        "from ale.task import Task\n\nclass Edit(Task):\n    def stage_inputs(self, vm): return {}\n",
        3,
        "Edit has no evaluate()",
    ),
    "two classes": (
        "from ale.task import Task\nclass A(Task):\n    pass\nclass B(Task):\n    pass\n",
        None,
        "several subclasses of Task (A, B)",
    ),
    "a description that is no text": (
        "from ale.task import Task\ndef load(): return [Task(description=3)]" + REST,
        None,
        "is not text but int",
    ),
    "an end without a word": ("import os\nos._exit(7)\n", None, "ended with exit code 7 without a result"),
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_broken_module_is_named_with_file_and_line(workflow_of: WorkflowOf, kind: str) -> None:
    main, line, words = BROKEN[kind]
    workflow = workflow_of(main)
    with pytest.raises(TaskError) as caught:
        await list_instances(workflow)
    message = str(caught.value)
    assert message.startswith("task legal/first: ")
    assert words in message
    assert line is None or f"main.py:{line}: " in message


async def test_an_instance_without_the_folder_that_others_have_is_named(workflow_of: WorkflowOf) -> None:
    main = "from ale.task import Task\ndef load(): return [Task('x', 'one'), Task('y', 'two')]" + REST
    workflow = workflow_of(main, files={"input/one/a": "1", "input/Two/a": "2"})
    with pytest.raises(TaskError, match=r"input has a folder for one but none for two \(there is Two\)"):
        await list_instances(workflow)


async def test_shared_modules_of_a_collection_are_importable_and_other_tasks_are_not(
    workflow_of: WorkflowOf, write_workflow: Callable[..., Path], tmp_path: Path
) -> None:
    write_workflow(name="legal/other", files={"reference/secret.txt": "42"})
    workflow = workflow_of(
        """\
        from pathlib import Path
        from ale.task import Task
        from tasks.shared import WORD
        from tasks.legal.helpers import word
        import beside

        others = sorted(path.name for path in Path(__file__).parent.parent.iterdir())

        def load():
            return [Task(description=WORD + word + beside.WORD, instance="-".join(others))]

        async def start(task, session): pass
        async def evaluate(task, session): return 1.0
        """,
        files={"beside.py": "WORD = '!'"},
    )
    root = tmp_path / "tasks"
    (root / "shared.py").write_text("WORD = 'Hello '")
    (root / "legal" / "helpers").mkdir()
    (root / "legal" / "helpers" / "__init__.py").write_text("word = 'world'")
    (instance,) = await list_instances(workflow)
    assert instance.description == "Hello world!"
    assert instance.name == "first-helpers"


async def test_instances_are_remembered_by_digest_and_a_damaged_memory_costs_only_time(
    workflow_of: WorkflowOf, tmp_path: Path
) -> None:
    main = "from ale.task import Task\ndef load(): return [Task('x', 'one')]" + REST
    cache = tmp_path / "cache"
    first = await list_instances(workflow_of(main), cache)
    (remembered,) = cache.iterdir()
    remembered.write_text(remembered.read_text().replace('"one"', '"two"'))
    assert [each.name for each in await list_instances(workflow_of(main), cache)] == ["two"]
    remembered.write_text("{")
    assert await list_instances(workflow_of(main), cache) == first
    assert [each.name for each in await list_instances(workflow_of(main.replace("one", "three")), cache)] == ["three"]
