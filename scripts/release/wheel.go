package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A wheel is a Python distribution that pip unpacks: a zip of files, beside a folder that describes them.
// https://packaging.python.org/specifications/binary-distribution-format
type wheel struct {
	distribution string // such as opledger_server
	version      string
	platforms    []string // it is for each of them
	pure         bool     // it has nothing of a platform
	metadata     string
	files        []file
	licences     []file // for the folder that describes it
}

// name is what pip knows the wheel by.
func (w wheel) name() string {
	return fmt.Sprintf("%s-%s-py3-none-%s.whl", w.distribution, w.version, strings.Join(w.platforms, "."))
}

// pack returns the wheel.
func (w wheel) pack(at time.Time) ([]byte, error) {
	info := w.distribution + "-" + w.version + ".dist-info/"
	described := fmt.Sprintf("Wheel-Version: 1.0\nGenerator: opledger scripts/release\nRoot-Is-Purelib: %t\n", w.pure)
	for _, platform := range w.platforms {
		described += "Tag: py3-none-" + platform + "\n"
	}
	files := slices.Clone(w.files)
	for _, licence := range w.licences {
		files = append(files, file{name: info + "licenses/" + licence.name, content: licence.content})
	}
	files = append(files, file{name: info + "METADATA", content: []byte(w.metadata)},
		file{name: info + "WHEEL", content: []byte(described)})
	record := ""
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		record += fmt.Sprintf("%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	record += info + "RECORD,,\n"
	return zipped(append(files, file{name: info + "RECORD", content: []byte(record)}), at)
}

// serverWheel makes the distribution of the command for a platform. pip puts it where it puts scripts: on PATH.
func (s source) serverWheel(d dist, p platform, program file, legal []file) error {
	w := wheel{
		distribution: "opledger_server", version: s.version, platforms: p.wheels, licences: legal,
		metadata: "Metadata-Version: 2.1\nName: opledger-server\nVersion: " + s.version + "\n" +
			"Summary: The opledger command: a ledger of long-running Gemini operations, on one machine\n" +
			"License: Apache-2.0\nRequires-Python: >=3.8\n" +
			"Project-URL: Source, https://github.com/opledger/opledger\n",
	}
	program.name = fmt.Sprintf("%s-%s.data/scripts/%s", w.distribution, w.version, program.name)
	w.files = []file{program}
	packed, err := w.pack(s.at)
	if err != nil {
		return err
	}
	return d.write(w.name(), packed)
}
