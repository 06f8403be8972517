package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/jsonscan"
)

// maxSchemaBytes bounds a schema, which is held in memory as a tree.
const maxSchemaBytes = 256 << 10

// A dialect is the language of a schema.
type dialect byte

const (
	openAPI    dialect = iota // Gemini's Schema: a part of OpenAPI's, with types in capitals
	jsonSchema                // JSON Schema
)

// A requestSchema is the schema that a request wants its answer to match; without text where it has none.
type requestSchema struct {
	dialect dialect
	text    []byte
}

// findSchema finds a request's schema. Gemini takes the members in camelCase and in snake_case.
func findSchema(request []byte) (found requestSchema) {
	c := jsonscan.New(request)
	member := func(dialect dialect) {
		if text := c.Value(); string(text) != "null" {
			found = requestSchema{dialect, text}
		}
	}
	format := func() {
		c.In("text", func() { c.In("schema", func() { member(jsonSchema) }) })
	}
	c.Object(func(key []byte) {
		if k := string(key); k != "generationConfig" && k != "generation_config" {
			return
		}
		c.Object(func(key []byte) {
			switch string(key) {
			case "responseSchema", "response_schema":
				member(openAPI)
			case "responseJsonSchema", "response_json_schema", "_responseJsonSchema":
				member(jsonSchema)
			case "responseFormat", "response_format":
				if c.Kind() == '[' {
					c.List(func(int) { format() })
				} else {
					format()
				}
			}
		})
	})
	return found
}

// compile makes the check of a schema.
func (s requestSchema) compile() (job.Check, error) {
	if len(s.text) > maxSchemaBytes {
		return nil, fmt.Errorf("the response schema has %d bytes, more than %d: it cannot be checked; validate json instead",
			len(s.text), maxSchemaBytes)
	}
	var document any
	if err := json.Unmarshal(s.text, &document); err != nil {
		return nil, fmt.Errorf("reading the response schema: %w", err)
	}
	if s.dialect == openAPI {
		document = translate(document)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.AssertFormat()
	const name = "request:schema"
	if err := compiler.AddResource(name, document); err != nil {
		return nil, fmt.Errorf("reading the response schema: %w", err)
	}
	schema, err := compiler.Compile(name)
	if wrong := (*jsonschema.SchemaValidationError)(nil); errors.As(err, &wrong) {
		err = errors.New(leaves(wrong.Err))
	}
	if err != nil {
		return nil, fmt.Errorf("the response schema cannot be checked, correct it or validate json instead: %w", err)
	}
	return matches(schema), nil
}

// A noLoader loads nothing: a schema from outside may not name files or hosts.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema may only refer to itself")
}

// translate makes a JSON Schema of Gemini's Schema. The words of both are the same but for these: types in
// capitals, nullable, numbers as texts, and snake_case, which Gemini takes, too.
func translate(schema any) any {
	given, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	made := map[string]any{}
	for key, value := range given {
		key = camelCase(key)
		switch key {
		case "type":
			value = translateType(value)
		case "properties", "$defs":
			value = translateEach(value)
		case "items", "additionalProperties":
			value = translate(value)
		case "anyOf", "allOf", "oneOf", "prefixItems":
			value = translateEach(value)
		case "enum":
			value = translateEnum(value, given["type"])
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "minimum", "maximum":
			value = number(value)
		case "nullable":
			continue
		}
		if value != nil {
			made[key] = value
		}
	}
	if given["nullable"] == true {
		return map[string]any{"anyOf": []any{map[string]any{"type": "null"}, made}}
	}
	return made
}

// translateEach translates each schema of a list or of an object.
func translateEach(schemas any) any {
	switch schemas := schemas.(type) {
	case []any:
		for i := range schemas {
			schemas[i] = translate(schemas[i])
		}
	case map[string]any:
		for name := range schemas {
			schemas[name] = translate(schemas[name])
		}
	}
	return schemas
}

// translateType writes types as JSON Schema does; nil where any type may be.
func translateType(value any) any {
	switch value := value.(type) {
	case string:
		if strings.EqualFold(value, "TYPE_UNSPECIFIED") {
			return nil
		}
		return strings.ToLower(value)
	case []any:
		for i := range value {
			value[i] = translateType(value[i])
		}
	}
	return value
}

// translateEnum writes the values of a number's enum, which are texts in Gemini's Schema, as numbers.
func translateEnum(value, kind any) any {
	values, ok := value.([]any)
	if name, _ := kind.(string); !ok || !strings.EqualFold(name, "INTEGER") && !strings.EqualFold(name, "NUMBER") {
		return value
	}
	for i := range values {
		values[i] = number(values[i])
	}
	return values
}

// number reads a number that JSON may write as a text, as it does of each int64.
func number(value any) any {
	text, ok := value.(string)
	var n float64
	if ok && json.Unmarshal([]byte(text), &n) == nil {
		return n
	}
	return value
}

// camelCase writes max_items as maxItems.
func camelCase(key string) string {
	words := strings.Split(key, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}
