// Package webhooks manages the webhooks that are registered at Gemini, through the official SDK:
// create, list, ping, rotate, enable and delete [G3].
//
// A webhook belongs to the project of the API key. Gemini returns a signing secret only when it is
// created or rotated; afterwards it lists the last characters. No error or printed value here holds
// a secret or the API key.
//
// No call is retried: a repeated creation leaves two webhooks, and a repeated rotation replaces a
// secret that was not stored yet. A call without an answer may have been carried out;
// [Error.Unanswered] reports such a call.
package webhooks
