//go:build linux && amd64

package effects

import (
	"os"
	"time"
)

// shift moves the wall clock of the whole process, of every library in it too, by that many
// seconds. The monotonic clock stays, as it does on a machine whose time is wrong.
func shift(seconds int64)

func init() {
	text := os.Getenv("CLOCK_SHIFT")
	if text == "" {
		return
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	shift(int64(d / time.Second))
}
