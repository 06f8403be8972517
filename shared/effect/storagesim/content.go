package storagesim

import (
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// A content is the bytes of an object: in memory, in a file, or only their checksum.
type content struct {
	file    string // empty: in memory
	memory  []byte
	dropped bool // only the checksum is kept
	size    int64
	sum     uint32
}

// newContent returns an empty content of the kind that the simulator keeps.
func (s *Sim) newContent() *content {
	c := &content{dropped: s.config.ChecksumsOnly}
	if s.config.Folder != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.made++
		c.file = filepath.Join(s.config.Folder, fmt.Sprintf("content-%d", s.made))
	}
	return c
}

// Write implements io.Writer: it appends.
func (c *content) Write(p []byte) (int, error) {
	switch {
	case c.dropped:
	case c.file == "":
		c.memory = append(c.memory, p...)
	default:
		if err := appendTo(c.file, p); err != nil {
			return 0, err
		}
	}
	c.sum = crc32.Update(c.sum, castagnoli, p)
	c.size += int64(len(p))
	return len(p), nil
}

func appendTo(name string, p []byte) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(p); err != nil {
		_ = f.Close() // the write has failed
		return err
	}
	return f.Close()
}

// open returns the content for reading. The caller closes it.
func (c *content) open() (io.ReadSeekCloser, error) {
	switch {
	case c.dropped:
		return nil, refusal(http.StatusNotImplemented, "Only checksums are kept.")
	case c.file == "" || c.size == 0:
		return memoryFile{io.NewSectionReader(readerAt(c.memory), 0, c.size)}, nil
	default:
		return os.Open(c.file)
	}
}

// drop removes the file of a content, if it has one.
func (c *content) drop() {
	if c.file != "" {
		_ = os.Remove(c.file) // the test's folder goes with the test
	}
}

type memoryFile struct{ *io.SectionReader }

// Close implements io.Closer.
func (memoryFile) Close() error { return nil }

type readerAt []byte

// ReadAt implements io.ReaderAt.
func (b readerAt) ReadAt(p []byte, offset int64) (int, error) {
	n := copy(p, b[min(offset, int64(len(b))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// keep stores an object with its content, in place of an existing one.
func (s *Sim) keep(object *Object, c *content) {
	at := object.Bucket + "/" + object.Name
	s.remove(at)
	s.generation++
	object.Generation, object.TimeCreated = s.generation, s.config.Now().UTC().Format(time.RFC3339Nano)
	object.Size, object.Crc32c, object.content = uint64(c.size), checksum(c.sum), c
	s.objects[at] = object
}

// remove removes an object by its bucket and name, if it is there.
func (s *Sim) remove(at string) {
	if object := s.objects[at]; object != nil {
		object.content.drop()
		delete(s.objects, at)
	}
}

// A cutAnswer ends the connection after so many bytes of an answer.
type cutAnswer struct {
	http.ResponseWriter
	left int
}

// Write implements io.Writer.
func (c *cutAnswer) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush() // the caller gets what precedes the cut
		panic(http.ErrAbortHandler)
	}
	return n, err
}
