"""Short names for what a room offers."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from ale.errors import UsageError
from ale.plugins import load_plugin, plugin_names

TABLE = {"a-class": "collections:OrderedDict", "a-value": "string:digits"}


def test_a_class_becomes_an_instance_and_a_value_stays() -> None:
    assert load_plugin("a-class", TABLE, "ale.none", "thing") == OrderedDict()
    assert load_plugin("a-value", TABLE, "ale.none", "thing") == "0123456789"


def test_a_name_that_is_none_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"there is no thing 'a-clas' \(did you mean 'a-class'\?\)"):
        load_plugin("a-clas", TABLE, "ale.none", "thing")


def test_packages_outside_are_known_by_their_entry_points() -> None:
    assert {"a-class", "xdist"} <= set(plugin_names(TABLE, "pytest11"))
