package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A jobPlan is which jobs are measured.
type jobPlan struct {
	rows    []jobRow
	rounds  int
	runTime [2]time.Duration // of a batch, from the least to the most
	folder  string           // where everything is written; empty: that of temporary files
}

// A jobRow is one row of the table: a job of so many requests, each of so many bytes.
type jobRow struct {
	requests, bytes int
	alone           bool // the plain programs do not run it
}

func (r jobRow) String() string { return fmt.Sprintf("%d requests of %d bytes", r.requests, r.bytes) }

// leastBytes is the size of the smallest request.
const leastBytes = 150

// runJobs measures jobs, and prints a table.
func runJobs(ctx context.Context, args []string, out io.Writer) (err error) {
	p, err := parseJobs(args)
	if err != nil {
		return err
	}
	b, err := newBench(p.folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	b.simulation = simulation{RunTime: p.runTime}
	for _, row := range p.rows {
		if err := p.row(ctx, b, row, out); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
	}
	return nil
}

// parseJobs reads the flags. The error names each one that is wrong.
func parseJobs(args []string) (jobPlan, error) {
	var p jobPlan
	var problems []error
	flags := flag.NewFlagSet("load jobs", flag.ContinueOnError)
	compared := flags.String("compared", "100000x200,2000x1000000", "jobs as REQUESTSxBYTES, beside plain programs")
	alone := flags.String("alone", "1000000x200", "jobs that opledger runs alone; may be empty")
	flags.IntVar(&p.rounds, "rounds", 3, "in how many rounds, in which the programs take turns")
	flags.DurationVar(&p.runTime[0], "shortest", time.Second, "the least time that a batch runs")
	flags.DurationVar(&p.runTime[1], "longest", 2*time.Second, "the most time that a batch runs")
	flags.StringVar(&p.folder, "folder", "", "where to write, about five times the largest job")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	for _, list := range []struct {
		name, text string
	}{{"compared", *compared}, {"alone", *alone}} {
		for field := range strings.FieldsFuncSeq(list.text, func(r rune) bool { return r == ',' }) {
			row, err := parseRow(field)
			if row.alone = list.name == "alone"; err != nil {
				problems = append(problems, fmt.Errorf("--%s: %w", list.name, err))
			}
			p.rows = append(p.rows, row)
		}
	}
	if p.rounds < 1 {
		problems = append(problems, fmt.Errorf("--rounds: %d is not positive", p.rounds))
	}
	problems = append(problems, checkRunTime(p.runTime[0], p.runTime[1]))
	if flags.NArg() > 0 {
		problems = append(problems, fmt.Errorf("%q is no flag", flags.Args()))
	}
	return p, errors.Join(problems...)
}

// checkRunTime checks how long a batch runs.
func checkRunTime(shortest, longest time.Duration) error {
	if shortest <= 0 || longest < shortest {
		return fmt.Errorf("--shortest and --longest: %v and %v are no times from the least to the most", shortest, longest)
	}
	return nil
}

func parseRow(text string) (jobRow, error) {
	requests, size, _ := strings.Cut(text, "x")
	n, err := strconv.Atoi(requests)
	bytes, sizeErr := strconv.Atoi(size)
	if err != nil || sizeErr != nil || n < 1 || bytes < leastBytes {
		return jobRow{}, fmt.Errorf("%q is no job such as 1000x%d, of requests of at least so many bytes", text, leastBytes)
	}
	return jobRow{requests: n, bytes: bytes}, nil
}

// A cost is what a job took.
type cost struct {
	serve, submit time.Duration // of processor time; of the plain program, submit is 0
	peak, submits int64         // bytes that were resident at most
	elapsed       time.Duration
}

func (c cost) total() time.Duration { return c.serve + c.submit }

func (c cost) add(other cost) cost {
	return cost{
		serve: c.serve + other.serve, submit: c.submit + other.submit, elapsed: c.elapsed + other.elapsed,
		peak: max(c.peak, other.peak), submits: max(c.submits, other.submits),
	}
}

// row runs one job in all rounds.
func (p jobPlan) row(ctx context.Context, b bench, row jobRow, out io.Writer) error {
	input := filepath.Join(b.dir, "input.jsonl")
	if err := writeInput(input, row); err != nil {
		return err
	}
	defer os.Remove(input) //nolint:errcheck // the folder is deleted with it
	programs := []program{{"opledger", b.product}}
	if !row.alone {
		programs = []program{
			{"a plain program", func(ctx context.Context, input string, row jobRow) (cost, error) {
				return b.plain(ctx, plain, input, row)
			}},
			{"one that reads its requests, too", func(ctx context.Context, input string, row jobRow) (cost, error) {
				return b.plain(ctx, plainWithKeys, input, row)
			}},
			programs[0],
		}
	}
	costs := make([]cost, len(programs))
	for range p.rounds {
		for i, program := range programs {
			c, err := program.run(ctx, input, row)
			if err != nil {
				return fmt.Errorf("%s: %w", program.name, err)
			}
			costs[i] = costs[i].add(c)
		}
	}
	return p.print(out, row, programs, costs)
}

// A program does the work of a job.
type program struct {
	name string
	run  func(ctx context.Context, input string, row jobRow) (cost, error)
}

// print prints what the programs took, in the mean of all rounds, and how many times what each plain one took.
func (p jobPlan) print(out io.Writer, row jobRow, programs []program, costs []cost) error {
	seconds := func(d time.Duration) float64 { return d.Seconds() / float64(p.rounds) }
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(w, "%s\tprocessor s\tof it submit\t× plain\t× reading\tpeak MiB\tof submit\tseconds\t\n", row)
	for i, c := range costs {
		ratios := []string{"-", "-"}
		for of := range costs[:len(costs)-1] {
			ratios[of] = fmt.Sprintf("%.2f", c.total().Seconds()/costs[of].total().Seconds())
		}
		_, _ = fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%s\t%s\t%d\t%d\t%.1f\t\n", programs[i].name, seconds(c.total()),
			seconds(c.submit), ratios[0], ratios[1], c.peak>>20, c.submits>>20, seconds(c.elapsed))
	}
	_, _ = fmt.Fprintln(w)
	return w.Flush()
}
