package storage

import (
	"os"
	"time"
)

// InSmallChunks sends the objects of a bucket in the smallest chunks that Cloud Storage takes.
func InSmallChunks(s Storage) {
	if b, ok := s.(*bucket); ok {
		b.buckets.ChunkBytes = 256 << 10
	}
}

// SetClock sets the time of Check.
func SetClock(s Storage, now func() time.Time) {
	switch s := s.(type) {
	case *bucket:
		s.now = now
	case *folder:
		s.now = now
	}
}

// RefuseLinks makes every link in a folder fail.
func RefuseLinks(s Storage, err error) {
	s.(*folder).link = func(*os.Root, string, string) error { return &os.LinkError{Op: "linkat", Err: err} }
}

// BeforeLinks calls do before every link in a folder.
func BeforeLinks(s Storage, do func()) {
	link := s.(*folder).link
	s.(*folder).link = func(root *os.Root, from, name string) error {
		do()
		return link(root, from, name)
	}
}

// BreakFiles makes every file of a folder fail at Write behind so many bytes, or at Sync if they are less.
func BreakFiles(s Storage, bytes int, err error) {
	create := s.(*folder).create
	s.(*folder).create = func(root *os.Root, name string) (file, error) {
		made, createErr := create(root, name)
		return &brokenFile{file: made, left: bytes, err: err}, createErr
	}
}

type brokenFile struct {
	file
	left int
	err  error
}

// Write implements io.Writer.
func (b *brokenFile) Write(p []byte) (int, error) {
	n, err := b.file.Write(p[:min(len(p), b.left)])
	if b.left -= n; err == nil && n < len(p) {
		err = b.err
	}
	return n, err
}

// Sync fails.
func (b *brokenFile) Sync() error { return b.err }
