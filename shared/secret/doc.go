// Package secret reads and writes secrets in Google Secret Manager: the Gemini API key, and the
// signing secrets of the webhook, of which several are valid during a rotation [G3].
//
// A secret has versions. A version is ENABLED, DISABLED or DESTROYED; only what is enabled is ever
// read here. A new version never replaces an old one, so that a receiver that has not read it yet
// continues with the old one.
//
// No error, log line or printed value holds the data of a version. The log of Google's client,
// which holds whole requests and answers, is switched off.
//
// The permission that each call needs, below secretmanager., and the role, below
// roles/secretmanager., that has it:
//
//	Enabled  versions.list, .access  viewer and secretAccessor
//	Latest   versions.access         secretAccessor
//	Stored   versions.list           viewer
//	Add      versions.add            secretVersionAdder
//	Ensure   secrets.create          admin, only if the secret does not exist
//	Disable  versions.disable        secretVersionManager
package secret
