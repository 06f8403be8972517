package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opledger/opledger/shared/operation"
)

// mostProblems bounds the problems of an input that are kept.
const mostProblems = 20

// InputProblems are what is wrong with the inputs of a job: the first 20 problems, and how many more there
// are. A line may have several. It wraps each of them, and so [operation.ErrSubmission].
type InputProblems struct {
	Problems []InputProblem `json:"problems"`
	More     int64          `json:"more,omitempty"`
}

// An InputProblem is one thing that is wrong, and what to do.
type InputProblem struct {
	// Input is the name of the input, and Line its line, from 1. Of a problem of all inputs there is neither.
	Input string `json:"input,omitempty"`
	Line  int64  `json:"line,omitempty"`
	// Field is where in the line it is, such as request.contents; or line, or input, of all of it.
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// Error names the place and what is wrong there.
func (p InputProblem) Error() string {
	words := []string{p.Field, p.Problem}
	if p.Input != "" {
		words = slices.Insert(words, 0, at(p.Input, p.Line))
	}
	return strings.Join(words, ": ")
}

// Unwrap returns [operation.ErrSubmission].
func (InputProblem) Unwrap() error { return operation.ErrSubmission }

// Error has a line for each problem, and one for those that are not kept.
func (p *InputProblems) Error() string {
	var lines []string
	for _, err := range p.Unwrap() {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems, and an error that says how many more there are.
func (p *InputProblems) Unwrap() []error {
	errs := make([]error, 0, len(p.Problems)+1)
	for _, problem := range p.Problems {
		errs = append(errs, problem)
	}
	if p.More > 0 {
		errs = append(errs, unkept(p.More))
	}
	return errs
}

// An unkept is how many problems are not kept.
type unkept int64

func (n unkept) Error() string {
	if n == 1 {
		return "1 more problem"
	}
	return fmt.Sprintf("%d more problems", int64(n))
}

// Unwrap returns [operation.ErrSubmission].
func (unkept) Unwrap() error { return operation.ErrSubmission }

// Problems is how many problems the error stands for, as diag.Lines counts them.
func (n unkept) Problems() int64 { return int64(n) }

func (p *InputProblems) add(problem InputProblem) {
	if len(p.Problems) < mostProblems {
		p.Problems = append(p.Problems, problem)
	} else {
		p.More++
	}
}

// report adds a problem of the line that was read last.
func (c *canonical) report(field string, problem error) {
	input := c.inputs[len(c.inputs)-1]
	c.problems.add(InputProblem{
		Input: input.name, Line: c.lines - input.before, Field: field, Problem: problem.Error(),
	})
}

// place says where a line is that was counted through all inputs.
func (c *canonical) place(line uint32) string {
	next, _ := slices.BinarySearchFunc(c.inputs, int64(line), func(b begun, line int64) int {
		return cmp.Compare(b.before, line)
	})
	input := c.inputs[next-1]
	return at(input.name, int64(line)-input.before)
}

// at is a place as compilers write it; line 0 is all of the input.
func at(input string, line int64) string {
	if line == 0 {
		return input
	}
	return input + ":" + strconv.FormatInt(line, 10)
}
