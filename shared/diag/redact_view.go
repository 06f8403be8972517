package diag

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A view is a text, as it is or decoded, with the place in the text of each of its bytes: from a
// byte to the one before another.
type view struct {
	bytes    []byte
	from, to []int
}

// plain returns the view of a text as it is.
func plain(text string) view {
	var v view
	for i := range len(text) {
		v.add(i, i+1, text[i])
	}
	return v
}

// add adds bytes that all have one place.
func (v *view) add(from, to int, bytes ...byte) {
	for _, b := range bytes {
		v.bytes, v.from, v.to = append(v.bytes, b), append(v.from, from), append(v.to, to)
	}
}

// folded returns the view's text for a comparison, byte for byte: in lower case, and with the plus
// sign of a query as a space.
func (v view) folded() string {
	folded := make([]byte, len(v.bytes))
	for i, b := range v.bytes {
		switch {
		case 'A' <= b && b <= 'Z':
			b += 'a' - 'A'
		case b == '+':
			b = ' '
		}
		folded[i] = b
	}
	return string(folded)
}

// each calls visit with the view, and with its decoded forms up to depth times.
func (v view) each(depth int, visit func(view)) {
	visit(v)
	if depth == 0 {
		return
	}
	if inner, changed := v.unescaped(); changed {
		inner.each(depth-1, visit)
	}
	const shortest = 6 // digits, of base64 or of hexadecimal
	for skip := range 4 {
		if inner := v.unpacked(base64Digit, 6, skip, shortest); len(inner.bytes) > 0 {
			inner.each(depth-1, visit)
		}
	}
	for skip := range 2 {
		if inner := v.unpacked(hexDigit, 4, skip, shortest); len(inner.bytes) > 0 {
			inner.each(depth-1, visit)
		}
	}
}

// unescaped returns the view without one layer of the escapes of URLs, JSON and HTML, and whether
// it had any.
func (v view) unescaped() (view, bool) {
	var out view
	changed := false
	for i := 0; i < len(v.bytes); {
		bytes, length := unescape(v.bytes[i:])
		if length == 0 {
			bytes, length = v.bytes[i:i+1], 1
		} else {
			changed = true
		}
		out.add(v.from[i], v.to[i+length-1], bytes...)
		i += length
	}
	return out, changed
}

// unescape returns the bytes of an escape at the beginning of text, and its length; 0 if there is
// none.
func unescape(text []byte) ([]byte, int) {
	switch text[0] {
	case '%':
		return number(text, 1, 2)
	case '&':
		const longest = len("&bsol;") + 4
		head := string(text[:min(len(text), longest)])
		if end := strings.IndexByte(head, ';'); end > 0 {
			if said := html.UnescapeString(head[:end+1]); said != head[:end+1] {
				return []byte(said), end + 1
			}
		}
	case '\\':
		return backslash(text)
	}
	return nil, 0
}

// backslash is unescape for the escapes of JSON, and of Go's quoted strings.
func backslash(text []byte) ([]byte, int) {
	if len(text) < 2 {
		return nil, 0
	}
	switch text[1] {
	case 'x':
		return number(text, 2, 2)
	case 'u':
		first, length := number(text, 2, 4)
		if length > 0 && len(text) > length+1 && text[length] == '\\' && text[length+1] == 'u' {
			high, low := hexValue(text[2:6]), hexValue(text[min(length+2, len(text)):min(length+6, len(text))])
			if pair := utf16.DecodeRune(high, low); pair != utf8.RuneError {
				return utf8.AppendRune(nil, pair), 2 * length
			}
		}
		return first, length
	case 'n', 'r', 't', 'b', 'f':
		return []byte{' '}, 2 // which of them says nothing about where a word ends
	case '"', '\'', '\\', '/':
		return text[1:2], 2
	}
	return nil, 0
}

// number is unescape for an escape with hexadecimal digits from a place on: two are a byte, four a
// character.
func number(text []byte, at, digits int) ([]byte, int) {
	if len(text) < at+digits {
		return nil, 0
	}
	value := hexValue(text[at : at+digits])
	switch {
	case value < 0:
		return nil, 0
	case digits == 2:
		return []byte{byte(value)}, at + digits
	default:
		return utf8.AppendRune(nil, value), at + digits
	}
}

// hexValue returns the value of hexadecimal digits, or -1.
func hexValue(digits []byte) rune {
	value, err := strconv.ParseUint(string(digits), 16, 16)
	if err != nil {
		return -1
	}
	return rune(value)
}

// unpacked returns the bytes that runs of digits stand for, a zero byte after each run. A digit has
// bits bits. Runs that have fewer than shortest digits are left out, and so are the first skip
// digits of each: a run may begin before what it encodes.
func (v view) unpacked(digit func(byte) int, bits, skip, shortest int) view {
	var out view
	for i := 0; i < len(v.bytes); {
		end := i
		for end < len(v.bytes) && digit(v.bytes[end]) >= 0 {
			end++
		}
		if end-i >= skip+shortest {
			held, value, first := 0, 0, 0
			for at := i + skip; at < end; at++ {
				if held == 0 {
					first = at
				}
				value, held = value<<bits|digit(v.bytes[at]), held+bits
				if held >= 8 {
					held -= 8
					out.add(v.from[first], v.to[at], byte(value>>held))
					value, first = value&(1<<held-1), at
				}
			}
			out.add(v.from[end-1], v.to[end-1], 0)
		}
		i = max(end, i+1)
	}
	return out
}

// base64Digit returns the value of a digit of base64, in either of its alphabets, or -1.
func base64Digit(b byte) int {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	if i := strings.IndexByte("-_", b); i >= 0 { // of the alphabet for URLs
		return len(digits) - 2 + i
	}
	return strings.IndexByte(digits, b)
}

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(b byte) int {
	const digits = "0123456789abcdefABCDEF"
	i := strings.IndexByte(digits, b)
	if i > 15 {
		i -= 6
	}
	return i
}

func alphanumeric(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}
