//go:build !unix

package open

import "io/fs"

// asItIs: here a file is opened as any other.
const asItIs = 0

// ownersAlone returns nil: here a file's mode does not say who may read it.
func ownersAlone(fs.FileInfo) error { return nil }
