package e2e

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// A disk is a small file system of its own, which can be full.
type disk struct {
	t   *testing.T
	dir string
}

// diskSize is more than any ledger here takes.
const diskSize = 1 << 30

// newDisk mounts a disk. There is none where that is not permitted: it takes Linux, and root.
func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{t, t.TempDir()}
	if err := syscall.Mount("opledger-soak", d.dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		harness.Without(t, envDisk, fmt.Sprintf("no disk is full in the soak: mounting one of its own: %v", err))
		return nil
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

// fill leaves no space: the next page that a file needs meets ENOSPC.
func (d *disk) fill() {
	d.t.Helper()
	for {
		var at syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &at); err != nil {
			d.t.Fatal(err)
		}
		used := int64(at.Blocks-at.Bfree) * int64(at.Bsize)
		err := d.resize(used)
		if err == nil {
			return
		}
		if !errors.Is(err, syscall.EINVAL) { // more was written meanwhile
			d.t.Fatalf("filling the disk: %v", err)
		}
	}
}

// free makes it as large as it was.
func (d *disk) free() {
	d.t.Helper()
	if err := d.resize(diskSize); err != nil {
		d.t.Fatalf("freeing the disk: %v", err)
	}
}

func (d *disk) resize(size int64) error {
	return syscall.Mount("", d.dir, "", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size))
}
