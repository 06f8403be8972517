package decision

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

// Found are what a selection of several finds.
type Found struct {
	decisions []foundDecision
	Broken    []ledger.Broken // documents that cannot be read
	// None is why there are none, where that can be said.
	None string
}

// A foundDecision records the decision about one of them.
type foundDecision struct {
	name   string
	fields map[string]any
	record func(ledger.Decision) (stands actions.Decision, words string, err error)
}

// Add adds one by its name, with the fields that name it in JSON, and how the decision about it is recorded.
func (f *Found) Add(
	name string, fields map[string]any, record func(ledger.Decision) (actions.Decision, string, error),
) {
	f.decisions = append(f.decisions, foundDecision{name, fields, record})
}

// Len is how many there are.
func (f *Found) Len() int { return len(f.decisions) }

// names names the first of them.
func (f *Found) names() string {
	const most = 10
	var names []string
	for _, d := range f.decisions[:min(len(f.decisions), most)] {
		names = append(names, d.name)
	}
	if more := len(f.decisions) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// Several say in words what is decided about several.
type Several struct {
	Verb, Past string // such as resolve, and resolved
	One        string // what one of them is
	// Find returns them.
	Find func(context.Context, open.Writer) (Found, error)
}

// DecideAll asks, then decides about all that are found, and prints each decision that stands. The error joins
// those of all that could not be decided. A dry run prints what they are, and needs no reason.
func (d *Decider) DecideAll(ctx context.Context, s Several) error {
	if d.DryRun {
		return d.wouldDecide(ctx, s)
	}
	return d.deciding(ctx, func(w open.Writer) error {
		found, err := d.find(ctx, s, w)
		if err != nil {
			return err
		}
		if len(found.decisions) > 0 {
			question := fmt.Sprintf("%s %s: %s?", phrase.Sentence(s.Verb), phrase.Counted(len(found.decisions), s.One),
				found.names())
			if err := terminal.Agree(ctx, d.Outside, question, "nothing was "+s.Past); err != nil {
				return err
			}
		}
		return d.record(ctx, s, found)
	})
}

// find returns what s finds, and notes what cannot be read.
func (d *Decider) find(ctx context.Context, s Several, w open.Writer) (Found, error) {
	found, err := s.Find(ctx, w)
	for _, b := range found.Broken {
		d.Outside.Note("%s %s", phrase.Safe(string(b.Path)), phrase.Broken(b))
	}
	return found, err
}

// wouldDecide prints what DecideAll would decide about, and records nothing.
func (d *Decider) wouldDecide(ctx context.Context, s Several) error {
	settings, where, err := open.Parse[open.WriterSettings](d.Outside)
	if err != nil {
		return err
	}
	where.ReadOnly = true
	w, err := open.Write(ctx, d.Outside, settings.Server(), where, server.Options{})
	if err != nil {
		return err
	}
	found, err := d.find(ctx, s, w)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if d.Outside.JSON {
		all := []any{}
		for _, one := range found.decisions {
			all = append(all, one.fields)
		}
		return terminal.PrintJSON(d.Outside.Out, map[string]any{"dryRun": true, s.Past: all})
	}
	for _, one := range found.decisions {
		if _, err := fmt.Fprintln(d.Outside.Out, one.name); err != nil {
			return err
		}
	}
	if len(found.decisions) == 0 && found.None != "" {
		_, err = fmt.Fprintf(d.Outside.Out, "nothing to %s: %s\n", s.Verb, found.None)
		return err
	}
	_, err = fmt.Fprintf(d.Outside.Out, "would %s %s; nothing was %s\n", s.Verb,
		phrase.Counted(len(found.decisions), s.One), s.Past)
	return err
}

// record records decisions until ctx ends.
func (d *Decider) record(ctx context.Context, s Several, found Found) error {
	decided, decisions := []any{}, found.decisions
	var problems []error
	for _, one := range decisions {
		if ctx.Err() != nil {
			problems = append(problems, fmt.Errorf("%d of %d %s, then: %w; the same command goes on", len(decided),
				len(decisions), s.Past, terminal.ErrInterrupted))
			break
		}
		stands, words, err := one.record(d.Decision)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", one.name, open.WithRemedy(err, d.Outside)))
			continue
		}
		decided = append(decided, stands.JSON(s.Past, one.fields))
		if !d.Outside.JSON {
			_, err = fmt.Fprintln(d.Outside.Out, words)
			problems = append(problems, err)
		}
	}
	var err error
	switch {
	case d.Outside.JSON:
		err = terminal.PrintJSON(d.Outside.Out, map[string]any{s.Past: decided})
	case len(decisions) == 0 && found.None != "":
		_, err = fmt.Fprintf(d.Outside.Out, "nothing to %s: %s\n", s.Verb, found.None)
	default:
		_, err = fmt.Fprintf(d.Outside.Out, "%s %d of %d\n", s.Past, len(decided), len(decisions))
	}
	return errors.Join(append(problems, err)...)
}
