package harness

import (
	"flag"
	"strconv"
)

// AtOnce lets so many parallel tests run at the same time, unless -parallel says how many. It is for
// the TestMain of tests that mostly wait: for an emulator, a disk, a pause or another process. By
// default there are as many as processors, and those are idle then.
func AtOnce(tests int) {
	if !flag.Parsed() {
		flag.Parse()
	}
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if chosen {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err) // there is no such flag: this is no test
	}
}
