//go:build unix

package storage

import "os"

// SyncFolder makes durable which names are in a folder. Errors: the file system's.
func SyncFolder(root *os.Root, name string) error {
	folder, err := root.Open(name)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // it was only synced
	return folder.Sync()
}
