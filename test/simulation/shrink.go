package simulation

import "slices"

// Shrink returns choices that break an invariant like those in from, with as many of them 0, the
// ordinary course, as it can find in so many tries. breaks runs a schedule.
//
// First goes all behind the last that matters, then large blocks, then single choices, until none is
// left that can go. A choice is set to 0 rather than left out, because each answers its own question;
// leaving it out is tried where that does not help.
func Shrink(from []int, tries int, breaks func([]int) bool) []int {
	best := trimmed(from)
	attempt := func(candidate []int) bool {
		if tries <= 0 {
			return false
		}
		tries--
		if candidate = trimmed(candidate); !breaks(candidate) {
			return false
		}
		best = candidate
		return true
	}
	for cut := len(best) / 2; cut > 0; {
		if !attempt(best[:len(best)-min(cut, len(best))]) {
			cut /= 2
		}
	}
	for again := true; again && tries > 0; {
		again = false
		for size := max(len(best)/2, 1); size > 0; size /= 2 {
			for at := 0; at < len(best); at += size {
				block := best[at:min(at+size, len(best))]
				if !slices.ContainsFunc(block, func(choice int) bool { return choice != 0 }) {
					continue
				}
				candidate := slices.Clone(best)
				clear(candidate[at:min(at+size, len(candidate))])
				without := slices.Concat(best[:at], best[min(at+size, len(best)):])
				again = attempt(candidate) || attempt(without) || again
			}
		}
	}
	return best
}

// trimmed returns choices without the zeros at their end, which Replay adds by itself.
func trimmed(choices []int) []int {
	for len(choices) > 0 && choices[len(choices)-1] == 0 {
		choices = choices[:len(choices)-1]
	}
	return choices
}
