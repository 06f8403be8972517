// Package diag reports problems with an input: it quotes the input, cut to a bound, suggests what
// was probably meant, and prints all problems at once, one per line. Settings, commands and the
// readers of foreign texts use it.
package diag
