//go:build !linux && !darwin

package sqlite

import "time"

// suspended returns nothing here: where Go's process clock stops while the machine is suspended, more
// than an hour of that counts as a leap.
func suspended() time.Duration { return 0 }
