package job

// finishReasons decides each of Gemini's words for why a candidate stopped. A refusal depends on what was
// asked: the same request meets it again. A failure depends on what the model happened to write.
func finishReasons(word string) (outcome Outcome, known bool) {
	switch word {
	case "STOP":
		return OutcomeDone, true
	case "MAX_TOKENS":
		return OutcomeTruncated, true
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", // what was asked for is filtered
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", // the same for images
		"LANGUAGE",                  // the model does not have the language
		"MODEL_ARMOR",               // a filter that the project has set up
		"MISSING_THOUGHT_SIGNATURE": // the request lacks it
		return OutcomeRefused, true
	case "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", // a slip
		"NO_IMAGE",             // the model wrote text in place of an image
		"CONTINUATION",         // the rest can be had only by a further request, which a batch does not send
		"OTHER", "IMAGE_OTHER", // Gemini does not say why
		"FINISH_REASON_UNSPECIFIED": // as absent: the candidate has not stopped
		return OutcomeFailed, true
	default:
		return OutcomeFailed, false
	}
}

// blockReasons decides each of Gemini's words for why a prompt was blocked. OTHER is a refusal here: it is
// said of the prompt, "for example, due to its language or other harmful content".
func blockReasons(word string) (outcome Outcome, known bool) {
	switch word {
	case "SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "OTHER", "MODEL_ARMOR", "JAILBREAK":
		return OutcomeRefused, true
	default:
		return OutcomeFailed, false
	}
}
