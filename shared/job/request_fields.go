package job

import (
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// place reports a member that belongs elsewhere. parent is where it is: "" for the line itself, request, or
// request.generationConfig. An SDK takes all settings in one flat config, and in a file of a batch one that
// is misplaced fails every request.
func (r *reading) place(parent, name string) {
	field := strings.TrimPrefix(parent+"."+name, ".")
	switch plain := plainName(name); plain {
	case "config":
		r.add(field, "it is an SDK's; write its settings into request.generationConfig, but %s into request",
			"systemInstruction, tools, toolConfig, safetySettings and cachedContent")
	case "messages", "prompt":
		r.add(field, "Gemini has no such field; write request.contents as [%s]", content)
	case "httpoptions", "automaticfunctioncalling":
		r.add(field, "it is a setting of the SDK, which Gemini does not know; take it out")
	default:
		right, known := places[plain]
		if !known {
			right, known = misspelt(parent, plain)
		}
		if known && plainName(right) != plainName(field) {
			r.add(field, "write it as %s", right)
		}
	}
}

// misspelt returns the field of parent that an unknown one was most likely meant to be. Where there is any doubt it is
// a field that this revision does not know yet.
func misspelt(parent, plain string) (right string, found bool) {
	var fields []string
	for name, place := range places {
		if place, in := strings.CutPrefix(place, parent+"."); in && plainName(place) == name {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	most := 1
	if len(plain) >= 10 {
		most = 2
	}
	meant, found := diag.NearestWithin(most, plain, fields)
	if !found || meant[0] != plain[0] || len(plain) < 5 {
		return "", false
	}
	return places[meant], true
}

// plainName makes one name of a field's names in camelCase and in snake_case.
func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// places is where each field belongs, by its plain name; for other providers' names, what Gemini calls it.
var places = map[string]string{
	"contents":          "request.contents",
	"systeminstruction": "request.systemInstruction",
	"generationconfig":  "request.generationConfig",
	"safetysettings":    "request.safetySettings",
	"tools":             "request.tools",
	"toolconfig":        "request.toolConfig",
	"cachedcontent":     "request.cachedContent",
	"servicetier":       "request.serviceTier",

	"temperature":        "request.generationConfig.temperature",
	"topp":               "request.generationConfig.topP",
	"topk":               "request.generationConfig.topK",
	"candidatecount":     "request.generationConfig.candidateCount",
	"maxoutputtokens":    "request.generationConfig.maxOutputTokens",
	"stopsequences":      "request.generationConfig.stopSequences",
	"seed":               "request.generationConfig.seed",
	"presencepenalty":    "request.generationConfig.presencePenalty",
	"frequencypenalty":   "request.generationConfig.frequencyPenalty",
	"responselogprobs":   "request.generationConfig.responseLogprobs",
	"logprobs":           "request.generationConfig.logprobs",
	"responsemimetype":   "request.generationConfig.responseMimeType",
	"responseschema":     "request.generationConfig.responseSchema",
	"responsejsonschema": "request.generationConfig.responseJsonSchema",
	"responseformat":     "request.generationConfig.responseFormat",
	"responsemodalities": "request.generationConfig.responseModalities",
	"mediaresolution":    "request.generationConfig.mediaResolution",
	"speechconfig":       "request.generationConfig.speechConfig",
	"thinkingconfig":     "request.generationConfig.thinkingConfig",
	"imageconfig":        "request.generationConfig.imageConfig",

	"maxtokens":           "request.generationConfig.maxOutputTokens",
	"maxcompletiontokens": "request.generationConfig.maxOutputTokens",
	"thinkingbudget":      "request.generationConfig.thinkingConfig.thinkingBudget",
	"thinkinglevel":       "request.generationConfig.thinkingConfig.thinkingLevel",
}
