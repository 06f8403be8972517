//go:build unix

package storage

import "os"

// syncFolder makes durable which names are in a folder.
func syncFolder(root *os.Root, name string) error {
	folder, err := root.Open(name)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // it was only synced
	return folder.Sync()
}
