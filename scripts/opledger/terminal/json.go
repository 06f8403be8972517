package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/diag"
)

// JSONFlag adds --json to a command that prints. With it stdout has one JSON object, where --watch
// reads again one for each change. Every line on stderr is then an object of its own: a line of the
// log, a note or, as the last one, the error.
func JSONFlag(cmd *cobra.Command, outside *Environment) {
	cmd.Flags().BoolVar(&outside.JSON, "json", false, "print one JSON object; stderr then has one on each line")
}

// AsksForJSON reports whether a command line asks for JSON, also where its flags could not be read.
func AsksForJSON(cmd *cobra.Command, args []string) bool {
	flag := cmd.Flags().Lookup("json")
	return flag != nil && (flag.Value.String() == "true" || slices.Contains(args, "--json"))
}

// Note prints a line on stderr beside what the command prints.
func (e Environment) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if e.JSON {
		text = oneLine(map[string]string{"note": text})
	} else {
		text = Program + ": " + text
	}
	_, _ = fmt.Fprintln(e.Err, text) // a lost note loses nothing else
}

// An ErrorJSON is an error as JSON, in the form of the functions' answers.
type ErrorJSON struct {
	Code     int      `json:"code"` // the exit code
	Message  string   `json:"message"`
	Problems []string `json:"problems,omitempty"` // of a command line or settings that have several
}

// PrintError prints an error on stderr, which is the last place to report to.
func (e Environment) PrintError(code int, err error) {
	text := diag.Lines(Program, err)
	if e.JSON {
		text = strings.TrimPrefix(strings.TrimSuffix(text, "\n"), Program+": ")
		lines := strings.Split(text, "\n  ")
		text = oneLine(map[string]ErrorJSON{"error": {code, lines[0], lines[1:]}}) + "\n"
	}
	_, _ = fmt.Fprint(e.Err, text)
}

// Print prints a command's result: as JSON where that is asked for, else the words, on a line.
func (e Environment) Print(asJSON any, format string, args ...any) error {
	if e.JSON {
		return PrintJSON(e.Out, asJSON)
	}
	if _, err := fmt.Fprintf(e.Out, format+"\n", args...); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// PrintJSON prints v.
func PrintJSON(w io.Writer, v any) error {
	text, err := encodeJSON(v, "  ")
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// oneLine returns v, which has only texts and numbers, as JSON on one line.
func oneLine(v any) string {
	text, _ := encodeJSON(v, "") // texts and numbers can be encoded
	return strings.TrimSuffix(text, "\n")
}

// encodeJSON returns v as JSON. It escapes every character that is not printable, of which JSON
// itself escapes few: such characters occur in strings alone.
func encodeJSON(v any, indent string) (string, error) {
	var text, escaped strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "", err
	}
	for _, r := range text.String() {
		if r == '\n' || unicode.IsPrint(r) {
			escaped.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&escaped, `\u%04x`, unit)
		}
	}
	return escaped.String(), nil
}

// Program is the name that every line of an error begins with.
const Program = "opledger"
