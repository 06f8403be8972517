package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lines reads the items of a result file: one JSON object per line.
type lines struct {
	reader *bufio.Reader
	line   []byte
	proven bool // io.EOF is the end of the file
}

func newLines(body io.Reader, proven bool) *lines {
	return &lines{reader: bufio.NewReaderSize(body, 64<<10), proven: proven}
}

// errCut: a cut download ends like one that is whole, where its length was not announced.
var errCut = fmt.Errorf("downloading the results: the last line is not whole: %w", io.ErrUnexpectedEOF)

func (l *lines) next() ([]byte, error) {
	for {
		whole, err := l.readLine()
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return nil, fmt.Errorf("downloading the results: %w", err)
		}
		line := bytes.TrimSpace(l.line)
		if ended && !l.proven && (!whole || len(line) > 0 && !json.Valid(line)) {
			return nil, errCut
		}
		switch {
		case !whole:
			return line, errLine
		case len(line) > 0:
			return line, nil
		case ended:
			return nil, io.EOF
		}
	}
}

// readLine reads a line, and reports whether it fits. The error is io.EOF for the last line.
func (l *lines) readLine() (whole bool, err error) {
	if l.line, whole = l.line[:0], true; cap(l.line) > LargeItemBytes {
		l.line = nil // else it would be kept for small ones
	}
	for {
		part, err := l.reader.ReadSlice('\n')
		if whole = whole && len(l.line)+len(part) <= MaxItemBytes; whole {
			l.line = append(l.line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}
