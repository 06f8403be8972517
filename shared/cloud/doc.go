// Package cloud builds from settings what a deployed function works with: the gate and the confirmer
// of deliveries, the reconciler, and the effects' handlers. With package connect, which opens the
// ledger, it is all that connects a deployed function to Google Cloud.
//
// An error begins with the variable that it is about. What a function of this package opens stays
// open for the life of the process, unless it says otherwise.
package cloud
