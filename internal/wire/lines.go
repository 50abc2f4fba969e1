package wire

import (
	"bufio"
	"bytes"
	"errors"
)

// ReadLine returns one line without its end, and what in said at it. Of a line
// past MaxLine only the head is kept: the rest is read and dropped, so that a
// program that ran away neither fills the memory nor blocks.
func ReadLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if room := MaxLine - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}
