"""How operations and rows are staged in Arrow's IPC format: with lz4 where Arrow has it, and without its threads. Tasks
run side by side, and a thread that cannot start for lack of memory is no MemoryError."""

from __future__ import annotations

import pyarrow as pa

STAGED = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None, use_threads=False)
READ = pa.ipc.IpcReadOptions(use_threads=False)
