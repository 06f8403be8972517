package diag

import (
	"fmt"
	"strconv"
	"strings"
)

// Duration returns an error for a text that time.ParseDuration refuses, with how a duration is
// written.
func Duration(text string) error {
	write := "write 90s, 5m or 6h"
	const most = 1e5 // days, within what a duration can hold
	if number, isDays := strings.CutSuffix(text, "d"); isDays {
		if days, err := strconv.ParseUint(number, 10, 64); err == nil && days <= most {
			write = fmt.Sprintf("a day is 24h: write %dh", days*24)
		}
	}
	return fmt.Errorf("%s is not a duration; %s", Quote(text), write)
}

// OneOf lists the words to choose from: "RUNNING, FAILED or EXPIRED".
func OneOf[Word ~string](words []Word) string {
	texts, last := Texts(words), len(words)-1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

// Texts returns the words as texts.
func Texts[Word ~string](words []Word) []string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return texts
}

// DidYouMean returns "; did you mean WORD?" with the known word that is Nearest, or nothing. It
// ends an error text.
func DidYouMean[Word ~string](word string, known []Word) string {
	if meant, ok := Nearest(word, known); ok {
		return fmt.Sprintf("; did you mean %s?", meant)
	}
	return ""
}

// Nearest returns the known word that was most likely meant by word, and whether there is one. Case
// makes no difference. The distance counts each letter that is missing, too many or wrong, and each
// two that are swapped; it may be about one in three letters. Of equally near words it returns the
// first.
func Nearest[Word ~string](word string, known []Word) (Word, bool) {
	most := (len([]rune(word)) + 1) / 3
	if len([]rune(word)) < 3 {
		most = 0 // another case alone: any two short words are near each other
	}
	return NearestWithin(most, word, known)
}

// NearestWithin is Nearest with the greatest distance that a word may have.
func NearestWithin[Word ~string](most int, word string, known []Word) (Word, bool) {
	var nearest Word
	typed, least := []rune(strings.ToLower(word)), most+1
	for _, k := range known {
		if d := slips(typed, []rune(strings.ToLower(string(k)))); d < least {
			nearest, least = k, d
		}
	}
	return nearest, nearest != ""
}

// slips returns the optimal string alignment distance of a and b.
func slips(a, b []rune) int {
	var before []int
	last, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			wrong := 1
			if a[i] == b[j] {
				wrong = 0
			}
			row[j+1] = min(last[j]+wrong, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, make([]int, len(b)+1)
	}
	return last[len(b)]
}
