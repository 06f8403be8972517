package sqlite

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// suspended returns for how long the machine has been suspended since its start. Go's process clock
// stops meanwhile: it is CLOCK_MONOTONIC.
func suspended() time.Duration {
	var all, awake unix.Timespec
	if errors.Join(unix.ClockGettime(unix.CLOCK_BOOTTIME, &all), unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake)) != nil {
		return 0
	}
	return time.Duration(all.Nano() - awake.Nano())
}
