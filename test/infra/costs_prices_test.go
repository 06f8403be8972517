package infra_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A price in infra/prices.json is for so many of a unit; so many are free each month.
type price struct {
	Unit               string
	Dollars, Per, Free float64
	Page               string // of Google's, that it is from
}

type prices map[string]price

func pricesOf(t *testing.T) prices {
	t.Helper()
	var list []price
	if err := json.Unmarshal([]byte(read(t, "infra/prices.json")), &list); err != nil {
		t.Fatal(err)
	}
	all := prices{}
	for _, one := range list {
		if _, twice := all[one.Unit]; twice || one.Dollars <= 0 || one.Per < 1 || one.Page == "" {
			t.Errorf("%+v is no price, or stated twice", one)
		}
		all[one.Unit] = one
	}
	return all
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// cost is what a formula comes to, as infra/README.md writes it: "free" where it is all of one unit
// and no more than is free.
func (p prices) cost(t *testing.T, formula string) string {
	t.Helper()
	dollars, free := p.value(t, formula)
	switch {
	case free:
		return "free"
	case dollars == 0:
		return "nothing"
	}
	return money(dollars)
}

func money(dollars float64) string {
	if dollars >= 1 {
		return fmt.Sprintf("$%.2f", dollars)
	}
	return fmt.Sprintf("$%.*f", 1-int(math.Floor(math.Log10(dollars))), dollars)
}

// together is what the first lines come to, less what is free.
func (p prices) together(t *testing.T, lines []line) string {
	t.Helper()
	var sum float64
	for _, l := range lines {
		if dollars, free := p.value(t, l.formula); !free {
			sum += dollars
		}
	}
	return money(sum)
}

// value is what a formula comes to in dollars.
func (p prices) value(t *testing.T, formula string) (dollars float64, free bool) {
	t.Helper()
	tokens := regexp.MustCompile(`[\d,.]+|[a-zA-Z-]+|[×+()]`).FindAllString(formula, -1)
	var unit string
	var sum func() float64
	factor := func() float64 {
		token := tokens[0]
		tokens = tokens[1:]
		if token == "(" {
			value := sum()
			tokens = tokens[1:]
			return value
		}
		value := number(t, token)
		if len(tokens) > 0 && regexp.MustCompile(`^[a-zA-Z]`).MatchString(tokens[0]) {
			unit = tokens[0]
			found, ok := p[strings.TrimSuffix(unit, "s")]
			if !ok {
				t.Fatalf("%s: there is no price of %s", formula, unit)
			}
			tokens = tokens[1:]
			value *= found.Dollars / found.Per
		}
		return value
	}
	product := func() float64 {
		value := factor()
		for len(tokens) > 0 && tokens[0] == "×" {
			tokens = tokens[1:]
			value *= factor()
		}
		return value
	}
	sum = func() float64 {
		value := product()
		for len(tokens) > 0 && tokens[0] == "+" {
			tokens = tokens[1:]
			value += product()
		}
		return value
	}
	dollars = sum()
	if of := p[strings.TrimSuffix(unit, "s")]; of.Free > 0 {
		free = dollars <= of.Free*of.Dollars/of.Per
	}
	return dollars, free
}
