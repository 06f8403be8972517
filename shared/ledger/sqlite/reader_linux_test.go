package sqlite

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// asReader calls do with the rights to files of a user who is not root, whom no mode keeps out.
func asReader(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	const another = 65534
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.Setfsuid(another); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setfsuid(0); err != nil {
			t.Error(err)
		}
	}()
	do()
}
