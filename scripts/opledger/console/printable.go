package console

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/opledger/opledger/shared/diag"
)

// printable returns a rendered page with everything escaped that is not printable: a name may turn the
// order of the text round it. In the text of the page that is done visibly. In a tag, whose attributes
// a form sends back, it is a reference to the character, which means the same. The templates escape < and
// > of texts, so that those of the page are its own tags.
func printable(page []byte) []byte {
	var out bytes.Buffer
	for part := range strings.SplitAfterSeq(string(page), ">") {
		text, tag, _ := strings.Cut(part, "<")
		out.WriteString(diag.PrintableLines(text))
		if len(text) < len(part) {
			out.WriteByte('<')
		}
		for _, r := range tag {
			if unicode.IsPrint(r) || r == '\n' {
				out.WriteRune(r)
			} else {
				fmt.Fprintf(&out, "&#x%x;", r)
			}
		}
	}
	return out.Bytes()
}
