"""Kernels compare many bytes at a time: by SSE2, or by 64-bit integers where there is no SSE2."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from places import PACKAGE
from wheels import build_wheel, copy_project

# Blocks of random bytes, most of them near the limits of what is compared, beside a loop over their bytes.
PROGRAM = r"""
#include "blocks.h"
#include <stdio.h>

static unsigned long long state = 42;

static unsigned draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33);
}

/* How many bytes should be found and are not. */
static int missed(Places places, const unsigned char *wanted) {
    int count = 0;
    for (size_t i = 0; i < sizeof(Block); i++) {
        while (places && first_place(places) < i)
            places &= places - 1;
        count += wanted[i] && (!places || first_place(places) != i);
    }
    return count;
}

/* And 1 more if the first byte that is found is another. */
static int mistakes(Places places, const unsigned char *wanted) {
    const unsigned char *first = memchr(wanted, 1, sizeof(Block));
    size_t expected = first ? (size_t)(first - wanted) : sizeof(Block);
    return missed(places, wanted) + ((places ? first_place(places) : sizeof(Block)) != expected);
}

int main(void) {
    int wrong = 0;
    for (int i = 0; i < 1000000; i++) {
        unsigned char bytes[sizeof(Block)], copy[sizeof(Block)], below[sizeof(Block)], is[sizeof(Block)];
        unsigned char either[sizeof(Block)], both[sizeof(Block)];
        unsigned char limit = (unsigned char)(1 + draw() % 127), c = (unsigned char)draw();
        const unsigned char near[] = {limit, limit - 1, c, c + 1, 0, 0x7f, 0x80, 0xff};
        for (size_t k = 0; k < sizeof(Block); k++) {
            unsigned which = draw() % 12;
            bytes[k] = which < sizeof near ? near[which] : (unsigned char)draw();
            below[k] = bytes[k] < limit;
            is[k] = bytes[k] == c;
            either[k] = below[k] | is[k];
            both[k] = below[k] & is[k];
        }
        Block block = block_load((const char *)bytes);
        Found is_below = block_below(block, limit), is_c = block_is(block, (char)c);
        wrong += mistakes(found_places(is_below), below) + mistakes(found_places(is_c), is);
        wrong += mistakes(found_places(found_either(is_below, is_c)), either);
        wrong += missed(found_places(found_both(is_below, is_c)), both);
        block_store((char *)copy, block);
        wrong += memcmp(copy, bytes, sizeof copy) != 0;
    }
    printf("%zu %d\n", sizeof(Block), wrong);
}
"""
needs_sse2 = pytest.mark.skipif("x86_64" not in sysconfig.get_platform(), reason="SSE2 is on x86 alone")


@pytest.mark.parametrize(("flags", "size"), [(["-DGGFMT_PORTABLE"], 8), pytest.param([], 16, marks=needs_sse2)])
def test_bytes_at_once_are_found_as_one_by_one(flags: list[str], size: int, tmp_path: Path) -> None:
    (tmp_path / "blocks.c").write_text(PROGRAM)
    program = tmp_path / "blocks"
    subprocess.run(["gcc", "-O2", *flags, f"-I{PACKAGE / 'kernels'}", tmp_path / "blocks.c", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{size} 0\n"


@pytest.mark.long
def test_all_kernels_are_right_without_sse2(tmp_path: Path) -> None:
    """Their tests, in a copy of the project whose kernels are built so."""
    project = copy_project(tmp_path / "project", "tests")
    wheel = build_wheel(project, tmp_path, CFLAGS="-DGGFMT_PORTABLE")
    with zipfile.ZipFile(wheel) as archive:
        archive.extract("ggfmt/kernels/_native.abi3.so", project)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env["PYTHONPATH"] = str(project)
    shown = "import ggfmt.kernels as k; print(k.__file__, k.native.BLOCK_BYTES)"
    for command, expected in (
        (["-c", shown], f"{project}/ggfmt/kernels/__init__.py 8\n"),
        (["-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "tests/kernels"], " passed"),
    ):
        done = subprocess.run(
            [sys.executable, *command], cwd=project, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 and expected in done.stdout, done.stdout + done.stderr
