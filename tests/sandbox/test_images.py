"""Recipes: what they may say, and what their digest depends on."""

from pathlib import Path

import pytest

from ale.errors import UsageError
from ale.sandbox.images import ImageRecipe, find_recipes, read_recipe

GOOD = "name: tiny\ndescription: a test\npackages: [bash, less]\n"


def written(folder: Path, text: str, name: str = "tiny") -> list[Path]:
    (folder / f"{name}.yaml").write_text(text)
    return [folder]


def test_the_recipes_of_this_project_are_valid() -> None:
    folder = Path(__file__).resolve().parents[2] / "images"
    assert "base" in find_recipes([folder])
    for name in find_recipes([folder]):
        assert read_recipe(name, [folder]).packages


def test_digest_ignores_order_and_description_but_not_the_distribution() -> None:
    one = ImageRecipe(name="a", description="x", packages=("bash", "less"))
    two = ImageRecipe(name="a", description="y", packages=("less", "bash", "less"), size_mb=7)
    assert one.digest("bookworm") == two.digest("bookworm")
    assert one.digest("bookworm") != one.digest("trixie")
    assert one.digest("bookworm") != one.model_copy(update={"packages": ("bash",)}).digest("bookworm")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD + "packges: [x]\n", r"tiny\.yaml:4: unknown key 'packges' \(did you mean 'packages'\?\)"),
        (GOOD.replace("name: tiny", "name: other"), r"name is 'other', but the file is called 'tiny\.yaml'"),
        (GOOD.replace("less", "'--option'"), r"tiny\.yaml:3: packages"),
        ("name: tiny\ndescription: x\n", "key 'packages' is missing"),
        ("name: tiny\ndescription: x\npackages: []\n", r"tiny\.yaml:3: packages"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        read_recipe("tiny", written(tmp_path, text))


def test_an_unknown_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no image 'tinny' \(did you mean 'tiny'\?\)"):
        read_recipe("tinny", written(tmp_path, GOOD))
