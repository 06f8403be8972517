package sqlite

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// suspended returns for how long the machine has been asleep since its start. Go's process clock stops
// meanwhile: it is mach_absolute_time, which is CLOCK_UPTIME_RAW.
func suspended() time.Duration {
	var all, awake unix.Timespec
	err := errors.Join(
		unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &all), unix.ClockGettime(unix.CLOCK_UPTIME_RAW, &awake))
	if err != nil {
		return 0
	}
	return time.Duration(all.Nano() - awake.Nano())
}
