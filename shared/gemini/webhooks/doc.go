// Package webhooks manages the webhooks that are registered at Gemini, through the official SDK:
// create, list, ping, rotate, enable, delete [G3].
//
// A webhook belongs to the project of the API key. Gemini tells its signing secret when it is
// created or rotated, and never again: from then on it lists the last characters only. No error or
// printed value here holds a secret or the API key.
//
// Nothing is repeated by itself, because a creation that is made twice leaves two webhooks, and a
// second rotation a secret that is not kept. A call that got no answer may have been carried out
// all the same; [Error.Unanswered] says which those are.
package webhooks
