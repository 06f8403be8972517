// Package main is given this file by the soak test: asked with SIGUSR1, the program says how many
// goroutines it has.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func init() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			fmt.Printf("goroutines %d\n", runtime.NumGoroutine())
		}
	}()
}
