"""The tree that searches are measured in is the same for the same seed, and holds what is looked for."""

from pathlib import Path

from benchmarks.search.source_tree import NEEDLE, VERSION_CONTROL, SourceTree, make_tree


def _contents(tree: SourceTree) -> dict[Path, bytes]:
    return {path.relative_to(tree.root): path.read_bytes() for path in tree.paths()}


def test_a_tree_is_the_same_for_the_same_seed_and_is_told_as_it_is(tmp_path: Path) -> None:
    trees: list[SourceTree] = []
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        (tmp_path / name).mkdir()
        trees.append(make_tree(tmp_path / name, size_bytes=2_000_000, seed=seed))
    one, again, other = map(_contents, trees)
    assert one == again
    assert one.keys() != other.keys()
    told, ignore_files = trees[0], [path for path in one if path.name == ".gitignore"]
    assert len(one) == told.files
    assert sum(path.suffix == ".py" for path in one) == told.python_files
    assert len({path.parent for path in one}) <= told.directories
    assert sum(len(data) for path, data in one.items() if path not in ignore_files) == told.size_bytes
    assert sum(NEEDLE.encode() in data for data in one.values()) == told.needles > 0
    assert any(b"\0" in data for data in one.values())
    assert (tmp_path / "one" / VERSION_CONTROL).is_dir()


def test_a_tree_may_be_without_version_control(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, size_bytes=100_000, has_version_control=False)
    assert not (tmp_path / VERSION_CONTROL).exists()
    assert len(_contents(tree)) == tree.files
