"""The commit protocol: a run gives all of its staged files their final names, or none.

A run may write to several directories: the output directories of handlers, and the checkpoint. Each of them is a
`Participant`; the first one decides for all. Names below are relative to a participant, `<run>` is the id of the run.
A run goes through these states. For each one: what is on disk, and what the next run does if the process dies in it.

1. Lock (`lock_all`, `Participant.acquire`). Before it takes a directory, a run reads all pointers and stops with GG509
   if it cannot know whether an earlier run is committed.
   On disk: `_ggfmt/lock`, which the process locks; in stores, and on disks without locks, a lease
   `_ggfmt/leases/<run>.json`, which the process renews every 30 seconds.
   Next run: the operating system has freed the lock. A lease counts as dead 600 seconds after its last renewal, by the
   clock of the store; until then the next run stops with GG501. Then the next run deletes the dead lease.
   A write of a data frame has no process that lives from the first task to the commit: its tasks share a lease
   (`SharedLease`), and the commit locks the directory as a process of the same run.
2. Recover (`Participant.acquire`). The run ends what an earlier run began, as states 4 to 6 say, and deletes the
   staging directories of runs without a lease. Next run: does the same from the start.
3. Stage (`Participant.stage`, the tasks). On disk: `_ggfmt/staging/<run>/` with messages, schemas, manifests and new
   segments of the checkpoint. Files of the output are as they were.
   Next run: deletes the staging directory (state 2).
4. Announce (`commit`), only if several directories take part. On disk: the intent `_ggfmt/commits/<run>.json` in the
   first directory, with the addresses of the others; then `_ggfmt/pointer.json` in each other one, with the address of
   the first.
   Next run to the first directory: finds an intent and no journal, and deletes the pointers and then the intent. Next
   run to another one: finds that the first has the intent and no journal, and deletes the pointer. If the first has
   neither, it was moved or replaced, and the run may be committed: GG509.
5. Decide (`commit`). The run syncs all staged files. Then `_ggfmt/journal.json` of the first directory comes into being
   at once and in full, with all files to move and to delete: this is the commit. Before it, everything is as in state 3
   or 4; after it, every process completes state 6 and never goes back. If an error or a signal ends the run before it,
   the run itself deletes the pointers and the intent; later, the run reports that it is committed.
6. Move (`replay_journal`). First a check that changes nothing: each file of the journal is in staging, or has its final
   name and the size (where it replaces an older file, also the digest) that the journal says. If not: GG509. Then, in
   this order: delete `_SUCCESS`; delete the files that the run replaces; move the staged files (stores copy a file,
   compare the size and delete the original; files outside of all participants are copies); let directories show their
   new versions, one rename of a link each (`versions`); write `_SUCCESS`; sync; delete the staging directories, the
   pointers, the journal, the intent.
   Next run to the first directory: replays the journal from the start. Next run to another one: locks the first through
   the pointer and does the same. What is done stays done; a directory whose pointer is gone is done, and nothing is
   deleted in it again. The run logs a warning that it completed the commit of `<run>`. It refuses (GG509) a journal
   that leads out of all participants if another user wrote it, who could have any file written by it.
7. Release (`Participant.release`). The run deletes its lock or lease, its staging directory unless a journal or pointer
   needs it, and empty directories of `_ggfmt`. Next run: as in state 1.

To let a directory take part: make a `Participant` of it, pass it to `lock_all` with the others before the run reads
anything, and hand `commit` a `CommitPart` with what it gets; `Participant.stage` makes moves of documents. Never make
two participants of one directory: the first refuses the second.
"""
