package root

var Shells = shells

// Texts are words as texts.
func Texts[Word ~string](words []Word) []string { return texts(words) }
