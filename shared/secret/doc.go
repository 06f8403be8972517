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
// What each call needs, and which role has it:
//
//	Enabled  secretmanager.versions.list, .access   roles/secretmanager.viewer and roles/secretmanager.secretAccessor
//	Newest   secretmanager.versions.access          roles/secretmanager.secretAccessor; listing too if the last version is disabled
//	Stored   secretmanager.versions.list            roles/secretmanager.viewer
//	Add      secretmanager.versions.add             roles/secretmanager.secretVersionAdder
//	Ensure   secretmanager.secrets.create           roles/secretmanager.admin, only if the secret is not there
//	Disable  secretmanager.versions.disable         roles/secretmanager.secretVersionManager
package secret
