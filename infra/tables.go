// Package infra embeds the tables of this folder that a running program reads.
package infra

import _ "embed" // the table below

// Signals is signals.json: what is counted in the log, and when an alert fires.
//
//go:embed signals.json
var Signals []byte
