// Package diag is how a problem with an input is reported: the input quoted and bounded, what was
// probably meant, and every problem at once, a line each. Settings, commands and readers of foreign
// texts share it.
package diag
