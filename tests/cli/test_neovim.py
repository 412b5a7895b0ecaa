"""The settings of the page for Neovim, unchanged, in a Neovim without a screen."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ggfmt import docs

NVIM = shutil.which("nvim")
_FILE = "gg.handlerlist=k\ngg.handler.k.format=json\ngg.handler.k.pathMappingTemplate=$tableName\ngg.handler.k.mode=\n"
# Waits for findings, applies the fix of the third line and completes the last one, as keys do.
_SESSION = """
local function shows(number)
  return vim.wait(30000, function() return #vim.diagnostic.get(0) == number end, 20)
end
shows(1)
local found = vim.diagnostic.get(0)[1] or {}
vim.api.nvim_win_set_cursor(0, { 3, 0 })
vim.lsp.buf.code_action({ apply = true, filter = function(action) return action.isPreferred end })
shows(0)
local fixed = vim.fn.getline(3)
vim.o.completeopt = "menuone,noinsert"
vim.api.nvim_win_set_cursor(0, { 4, 0 })
vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes("A<C-x><C-o>", true, false, true), "n", false)
local function words()
  return vim.tbl_map(function(item) return item.word end, vim.fn.complete_info().items)
end
local waited = 0
local function finish()
  waited = waited + 1
  if #words() == 0 and waited < 300 then return vim.defer_fn(finish, 100) end
  io.stdout:write(vim.json.encode({ found.code, found.lnum, found.col, found.severity, fixed, words() }), "\\n")
  vim.cmd("qa!")
end
vim.defer_fn(finish, 100)
"""


@pytest.mark.parametrize("name", ["orders.properties", "a b.props"])
def test_neovim_shows_findings_applies_a_fix_and_completes(name: str, tmp_path: Path) -> None:
    help = subprocess.run([NVIM, "--version"], capture_output=True, text=True).stdout if NVIM else ""
    version = re.search(r"v(\d+)\.(\d+)", help)
    if NVIM is None or version is None or tuple(map(int, version.groups())) < (0, 11):
        pytest.skip("no Neovim from 0.11 on")
    (settings,) = re.findall(r"```lua\n(.*?)```", docs.find("use-in-an-editor") or "", re.DOTALL)
    (tmp_path / "init.lua").write_text(settings)
    (tmp_path / "session.lua").write_text(_SESSION)
    (tmp_path / name).write_text(_FILE)
    command = [NVIM, "--headless", "-u", "init.lua", name, "-c", "luafile session.lua"]
    own = {f"XDG_{place}_HOME": str(tmp_path / place) for place in ("CACHE", "CONFIG", "DATA", "STATE")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ended = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **own, "PATH": path}, capture_output=True, text=True, timeout=120
    )
    shown = json.loads(ended.stdout.splitlines()[-1])
    assert shown[:4] == ["GG142", 2, 33, 2]
    assert shown[4] == "gg.handler.k.pathMappingTemplate=${tableName}"
    assert sorted(shown[5]) == ["op", "tx"]
