//go:build !crashpoints

package supervisor

// point names a line between two steps that must each survive a crash. It is
// nothing in a shipped binary; the crash tests build one in which it kills the
// process.
func point(string) {}
