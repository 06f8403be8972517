package geminisim

import "time"

// envelope is the documented body of a delivery.
type envelope struct {
	Type         string         `json:"type"`
	Version      string         `json:"version"`
	Timestamp    time.Time      `json:"timestamp"`
	Data         map[string]any `json:"data,omitempty"`
	UserMetadata map[string]any `json:"user_metadata,omitempty"`
}

// eventBody returns the body of an event about an operation, with the documented data keys of its
// type. The form of data.id and the place of user_metadata are unknown: no delivery of the live API
// is public.
func (s *Sim) eventBody(o *operation, event string, at time.Time, bareID bool) []byte {
	data := map[string]any{"id": o.name()}
	if bareID || o.kind == interactionKind { // whose id is bare everywhere
		data["id"] = o.id
	}
	switch event {
	case "batch.succeeded":
		if o.inputFile != "" { // documented for file input only
			data["output_file_uri"] = "files/" + resultPrefix + o.id
		}
	case "batch.failed", "interaction.failed":
		// Documented by name; that both are text is a guess.
		data["error_code"] = "INTERNAL"
		data["error_message"] = failures[o.kind.failed].Message
	case "video.generated":
		data["output_file_uri"] = o.videoURI()
		data["file_name"] = "files/" + o.id
	}
	e := envelope{Type: event, Version: "v1", Timestamp: at.UTC(), Data: data}
	if len(o.userMetadata) > 0 {
		switch s.cfg.MetadataIn {
		case MetadataInData:
			data["user_metadata"] = o.userMetadata
		case MetadataAtTop:
			e.UserMetadata = o.userMetadata
		case MetadataInInteraction:
			data["interaction"] = map[string]any{"user_metadata": o.userMetadata}
		}
	}
	return mustJSON(e)
}

// pingBody is a guess, because the body of a ping is undocumented. It has no data, to expose a
// receiver that requires data.
func pingBody(at time.Time) []byte {
	return mustJSON(envelope{Type: "ping", Version: "v1", Timestamp: at.UTC()})
}
