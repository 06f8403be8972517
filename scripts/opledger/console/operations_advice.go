package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/operation"
)

// advise fills in what can be done to the operations that the page shows.
func (p *operationsPage) advise(view phrase.EffectView, now time.Time) {
	store := view.StoreFlag()
	if p.Filter.Prefix != "" {
		return // no command chooses by it
	}
	switch p.Show {
	case "pending", "age", "late":
		p.Remedies = []remedy{
			{Label: "Look up all that is due", Line: "opledger reconcile" + store,
				Explains: "Makes one pass, as the schedule does."},
			{Label: "Abandon one", Line: "opledger abandon NAME --reason 'WHY'" + store,
				Explains: "If Gemini does not know it, because its name is wrong or the job is gone. Open it for more."},
		}
	case "conflict":
		p.Remedies = []remedy{
			{Label: "Ask Gemini how it ended", Line: "opledger reconcile NAME" + store,
				Explains: "If the one in the column State is true, nothing is to be undone. If the other is, undo by hand what " +
					"the effects did. If Gemini does not know it any more, look in your own records."},
			{Label: "Resolve one", Line: "opledger resolve NAME --reason 'WHY'" + store,
				Explains: "It then leaves this list, and needs no operator any more. Open it for more."},
		}
		for _, r := range p.Rows {
			if r.Conflicted() {
				p.Remedies = append(p.Remedies, allowMove(r))
				break
			}
		}
	case "unregistered":
		p.Remedies = []remedy{
			{Label: "Register one", Line: "opledger register NAME" + store,
				Explains: "If it is a job of yours. If it has ended, its effects are planned."},
			{Label: "Resolve one", Line: "opledger resolve NAME --reason 'WHY'" + store,
				Explains: "If it is another program's: the webhook receives events of all jobs of a project. It " +
					"then leaves this list."},
		}
	case "dead":
		p.ForAll = &bulkCommand{bulk("opledger replay --dead"+p.flags(now), store), ""}
		if p.Since != "" {
			p.ForAll.Note = "It takes the effects that died since then, of operations first seen at any time."
		}
	default:
		if flags := p.flags(now); flags != "" && p.Since == "" {
			p.ForAll = &bulkCommand{bulk("opledger replay"+flags, store), "It takes their open and dead effects."}
		}
	}
}

// allowMove is how the second state of such a conflict is applied in the future.
func allowMove(r operation.Record) remedy {
	stands, refused := string(r.State), phrase.Safe(string(r.ConflictState))
	return remedy{
		Label: "Let " + refused + " replace " + stands + " from now on",
		Line:  "OPLEDGER_TERMINAL_TRANSITIONS=" + stands + ":" + refused,
		Explains: fmt.Sprintf("A setting of the functions, FROM:TO, for a workflow in which an operation that has %s may "+
			"still become %s. A later %[2]s is then applied, and its effects run beside those of %[1]s. What was refused "+
			"stays refused.", stands, refused),
	}
}

// flags are the filter as the flags of a command.
func (p *operationsPage) flags(now time.Time) string {
	var flags strings.Builder
	add := func(name, value string) {
		if value != "" {
			flags.WriteString(" --" + name + " " + phrase.ShellWord(value))
		}
	}
	add("state", string(p.State))
	add("collection", string(p.Filter.Collection))
	add("job-kind", p.Filter.JobKind)
	since := p.Since
	if since == "night" {
		since = lastEvening(now.Local()).UTC().Format(time.RFC3339)
	}
	add("since", since)
	return flags.String()
}
