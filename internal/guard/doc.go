// Package guard is the process between Paceline and one harness child. It owns
// the child's process tree and its end, and knows no vendor.
//
// The server starts its own binary again as `paceline guard`, tells it what to
// run over a pipe, and the guard starts the harness with the three standard
// files it was given: not one byte of the conversation passes through it.
//
// What it promises:
//
//   - While anything of the tree lives, the run's lock file is locked. So "the
//     holder is dead" can be asked of the kernel, by anyone, at any time. Only
//     the guard holds that lock; nothing that it starts inherits it.
//   - The tree does not outlive the server. The server's end of the control pipe
//     closes when it dies, however it dies, and the guard then ends the tree:
//     interrupt, SIGTERM, a wait, SIGKILL.
//   - The tree is more than a process group. Claude's shell commands run in
//     sessions of their own and Codex's outlive an interrupt, so on Linux the
//     guard is the tree's subreaper: whatever loses its parent becomes its own
//     child, and none can hide by forking twice.
//   - Nothing is killed by number alone. A process is its pid and the instant it
//     was born; both are looked at again when the signal is sent.
//   - Killing first stops everything, looks again until there is nothing new, and
//     then kills from the leaves up. A tree that forks while it is being killed
//     is caught; and no frozen process wakes because its parent died first.
//   - A frozen tree never runs again. Whoever froze it may by then have let a
//     successor into the same files, so its only end is SIGKILL.
//
// When the guard itself is killed by force the harness dies with it
// (PR_SET_PDEATHSIG) and the lock is free, but what the harness had started may
// live on. Every process of a run carries PACELINE_RUN in its environment, and
// Sweep ends what still carries it. After a free lock, always Sweep.
//
// What it does not do: it does not end what the tree asked someone else to start
// (a container, a system service), nor what runs as a user it may not signal; in
// the second case it keeps the lock, because the tree is not gone. On macOS there
// is neither a subreaper nor a cage; there the tree is what can be seen from its
// root, what shares the harness's process group, and what carries the marker.
package guard
