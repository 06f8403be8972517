package results

import "github.com/opledger/opledger/shared/operation"

// ObjectName returns the name of the object that an effect writes to a bucket without a prefix.
func ObjectName(key operation.Key, effect string) string { return objectName(key, effect) }
