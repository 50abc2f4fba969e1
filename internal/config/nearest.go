package config

import "slices"

// longest is the length past which a word is nobody's typing mistake. It also
// bounds the work that a hostile file can cause.
const longest = 64

// Nearest returns the known name that word was probably meant to be: the one
// with the fewest edits, the first of several; "" where none is close. A third
// of a word may be wrong, and one letter of a short one.
func Nearest(word string, known []string) string {
	if len(word) > longest {
		return ""
	}
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := distance(word, k, least); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between a and b. From limit on it may return any count that is not
// below it.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		if slices.Min(next) >= limit {
			return limit
		}
		before, row = row, next
	}
	return row[len(b)]
}
