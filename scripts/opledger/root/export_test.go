package root

var Shells = shells
