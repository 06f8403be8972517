// Package diag words what went wrong, so that it can be printed, logged and stored: it quotes an
// input, cut to a bound, suggests what was probably meant, collects all problems ([Problems]) and
// prints them at once, one per line, and takes secrets out of what others say. [Pattern] is for all
// who search texts.
package diag
