package job

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// MaxLineBytes bounds a line of an input, without its line end.
const MaxLineBytes = 32 << 20

var (
	errLong  = fmt.Errorf("it has more than %d MiB; upload large media to Gemini, and name the files", MaxLineBytes>>20)
	errVast  = errors.New("the inputs are larger than a job may be, unpacked; make several jobs of them")
	errUTF16 = errors.New("it is UTF-16; save it as UTF-8")
)

// lines reads the lines of an input.
type lines struct {
	reader *bufio.Reader
	left   *int64 // bytes that may still be read
	text   []byte // of a line that is larger than the reader's buffer
}

// openLines returns a reader of the lines of a text, or of a gzip of one, without a byte order mark. It takes
// what it reads from left.
func openLines(input io.Reader, left *int64) (*lines, error) {
	const buffer = 64 << 10
	reader := bufio.NewReaderSize(input, buffer)
	if begins(reader, "\x1f\x8b") {
		unpacked, err := gzip.NewReader(reader)
		if err != nil {
			return nil, unreadable(err)
		}
		reader = bufio.NewReaderSize(unpacked, buffer)
	}
	if begins(reader, "\xff\xfe") || begins(reader, "\xfe\xff") {
		return nil, errUTF16
	}
	if mark := "\xef\xbb\xbf"; begins(reader, mark) {
		if _, err := reader.Discard(len(mark)); err != nil {
			return nil, unreadable(err)
		}
	}
	return &lines{reader: reader, left: left}, nil
}

// begins reports whether the text begins with these bytes. The next read returns an error of this one again.
func begins(reader *bufio.Reader, mark string) bool {
	beginning, _ := reader.Peek(len(mark))
	return string(beginning) == mark
}

// unreadable says of an error of gzip what to do.
func unreadable(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it ends within a gzip stream: it was cut off; copy it again (%w)", err)
	default:
		return fmt.Errorf("it is a broken gzip stream behind here; make it again: %w", err)
	}
}

// next returns the next line without its line end and the white space around it, valid until the next call;
// io.EOF behind the last. A line that is too long is skipped, and its error is errLong. Once nothing may be read
// any more it is errVast.
func (l *lines) next() ([]byte, error) {
	l.text = l.text[:0]
	for size := 0; ; {
		piece, err := l.reader.ReadSlice('\n')
		size += len(piece)
		if *l.left -= int64(len(piece)); *l.left < 0 {
			return nil, errVast
		}
		whole := len(l.text) == 0
		switch {
		case size > MaxLineBytes+len("\r\n"):
		case whole && err == nil:
			return l.trim(piece)
		default:
			l.text = append(l.text, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (size == 0 || !errors.Is(err, io.EOF)) {
			return nil, unreadable(err)
		}
		if size > MaxLineBytes+len("\r\n") {
			return nil, errLong
		}
		return l.trim(l.text)
	}
}

func (*lines) trim(text []byte) ([]byte, error) {
	text = bytes.TrimRight(text, "\r\n")
	if len(text) > MaxLineBytes {
		return nil, errLong
	}
	return bytes.TrimSpace(text), nil
}

// A watched remembers the error with which its reader failed. Any other error is one of the content.
type watched struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}
