package emulator

// Exited is closed when the emulator has ended, by Stop or by itself.
func (p *Process) Exited() <-chan struct{} { return p.exited }
