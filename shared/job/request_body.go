package job

import (
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/jsonscan"
)

// content is what a content must be.
const content = `{"role": "user", "parts": [{"text": "…"}]}`

// readBody checks the request by what is known to make Gemini refuse every request of a batch.
func (r *reading) readBody() {
	c := jsonscan.New(r.Body)
	switch {
	case r.Body == nil:
		r.add("request", "it is missing; write %s", form)
		return
	case c.Kind() != '{':
		r.add("request", "it must be an object with contents; write %s", form)
		return
	}
	contents := false
	c.Object(func(name []byte) {
		switch name := string(name); name {
		case "contents":
			contents = true
			r.readContents(c)
		case "content":
			r.embeds = true
			r.readContent("request.content", c)
		case "generationConfig", "generation_config":
			r.readConfig("request."+name, c)
		case "systemInstruction", "system_instruction":
			r.readContent("request."+name, c)
		case "model":
			r.model("request.model", c)
		default:
			r.place("request", name)
		}
	})
	switch {
	case contents && r.embeds:
		r.add("request.content", "it is of an embedding, and contents are not; take one of them out")
	case !contents && !r.embeds:
		r.add("request.contents", "it is missing; write [%s], or for an embedding request.content", content)
	}
}

// readContents checks a list of contents. Gemini takes one content in its place, as its own examples have it.
func (r *reading) readContents(c *jsonscan.Cursor) {
	const field = "request.contents"
	switch c.Kind() {
	case '{':
		r.readContent(field, c)
	case '[':
		empty := true
		c.List(func(index int) {
			empty = false
			r.readContent(fmt.Sprintf("%s[%d]", field, index), c)
		})
		if empty {
			r.add(field, "it is empty; write [%s]", content)
		}
	default:
		r.add(field, "it must be a list; write [%s]", content)
	}
}

// readContent checks a content. An SDK would make one of a text; in the file of a batch a text fails it.
func (r *reading) readContent(field string, c *jsonscan.Cursor) {
	if c.Kind() != '{' {
		r.add(field, "it must be a content; write %s", content)
		return
	}
	objects := false
	part := func() {
		objects = objects && c.Kind() == '{'
		c.Object(func(name []byte) { r.countMedia(string(name), c) })
	}
	c.Object(func(name []byte) {
		if string(name) == "role" && strings.HasPrefix(field, "request.contents") {
			r.readRole(field+".role", c)
		}
		if string(name) != "parts" {
			return
		}
		if objects = true; c.Kind() == '[' {
			c.List(func(int) { part() })
		} else {
			part()
		}
	})
	if !objects {
		r.add(field, "its parts must be a list of objects; write %s", content)
	}
}

// readRole checks who speaks in a content of the conversation.
func (r *reading) readRole(field string, c *jsonscan.Cursor) {
	switch string(c.Value()) {
	case `"assistant"`:
		r.add(field, "write it as model")
	case `"system"`, `"developer"`:
		r.add(field, "write this content as request.systemInstruction")
	}
}

// countMedia counts a part that is no text.
func (r *reading) countMedia(name string, c *jsonscan.Cursor) {
	switch name {
	case "inlineData", "inline_data":
		r.media++
		r.inline += int64(len(c.Value()))
	case "fileData", "file_data":
		r.media++
	}
}

// The tokens that are reckoned for a request: one for four bytes of its JSON, and as many for an image or
// another file as Gemini counts for a small image.
const (
	bytesPerToken  = 4
	tokensPerMedia = 258
)

// tokens estimates the input tokens of the request, for people. body is how many bytes it has.
func (r *reading) tokens(body int64) int64 {
	return max(0, body-r.inline)/bytesPerToken + r.media*tokensPerMedia
}

func (r *reading) readConfig(field string, c *jsonscan.Cursor) {
	if c.Kind() != '{' {
		r.add(field, `it must be an object, such as {"temperature": 0.2}`)
		return
	}
	c.Object(func(name []byte) { r.place("request.generationConfig", string(name)) })
}
