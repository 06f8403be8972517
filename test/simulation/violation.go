package simulation

import (
	"regexp"
	"slices"
	"strings"
)

// ruleNames finds the rules that a violation names, as in [M5, M9].
var ruleNames = regexp.MustCompile(`\[[A-Z][0-9]+(, [A-Z][0-9]+)*\]`)

// rulesOf returns the rules that a violation names.
func rulesOf(violation string) []string {
	var rules []string
	for _, names := range ruleNames.FindAllString(violation, -1) {
		rules = append(rules, strings.Split(strings.Trim(names, "[]"), ", ")...)
	}
	return rules
}

// breaks returns the first violation that names one of the rules, or any violation where there are no
// rules; empty: there is none.
func breaks(violations, rules []string) string {
	for _, violation := range violations {
		if len(rules) == 0 || slices.ContainsFunc(rulesOf(violation), func(rule string) bool {
			return slices.Contains(rules, rule)
		}) {
			return violation
		}
	}
	return ""
}
