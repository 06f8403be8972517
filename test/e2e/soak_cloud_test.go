package e2e

import (
	"errors"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger/emulator"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/test/harness"
)

// A soakedCloud is a cloud whose emulators are found at the ends of two wires. They are its own, and
// are ended and started again, where the level is thorough.
type soakedCloud struct {
	*cloud
	f *fleet

	firestoreWire, pubsubWire *wire
	firestore, pubsub         *emulator.Process
}

func newSoakedCloud(t *testing.T) *soakedCloud {
	t.Helper()
	c := &soakedCloud{firestoreWire: newWire(t, "127.0.0.1:0"), pubsubWire: newWire(t, "127.0.0.1:0")}
	if thorough(t) {
		c.startEmulators(t)
	} else {
		c.firestoreWire.join(harness.Firestore(t))
		c.pubsubWire.join(harness.PubSub(t))
	}
	c.cloud = newCloudAt(t, c.firestoreWire.address, c.pubsubWire.address)
	return c
}

func (c *soakedCloud) startEmulators(t *testing.T) {
	t.Helper()
	if _, err := emulator.Find(); err != nil {
		harness.Missing(t, err.Error())
	}
	var err error
	if c.firestore, err = emulator.StartFirestore(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.firestore.Stop() }) // the one that runs then
	if c.pubsub, err = emulator.StartPubSub(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.pubsub.Stop() })
	c.firestoreWire.join(c.firestore.Addr())
	c.pubsubWire.join(c.pubsub.Addr())
}

// troubles are those that the emulators make.
func (c *soakedCloud) troubles() []trouble {
	firestore, pubsub := c.restartFirestore, c.restartPubSub
	what := " restarted"
	if c.firestore == nil {
		firestore, pubsub, what = c.firestoreWire.blink, c.pubsubWire.blink, " cut off"
	}
	return []trouble{{"Firestore" + what, func() { c.f.downWhile(firestore) }}, {"Pub/Sub" + what, pubsub}}
}

// fleet makes the fleet: two of every function, or one at the short level.
func (c *soakedCloud) fleet(t *testing.T, config geminisim.Config) *fleet {
	t.Helper()
	c.f = newFleet(t, c.backend, 0, config)
	for _, pair := range []struct{ spared, other, function, path string }{
		{"w", "v", "Webhook", "/webhook"}, {"r", "q", "Register", "/register"},
		{"s", "u", "Reconcile", "/reconcile"}, {"e", "d", "Effects", pushPath},
	} {
		names := []string{pair.spared, pair.other}
		if !thorough(t) {
			names = names[1:]
		}
		for _, name := range names {
			c.f.instances = append(c.f.instances, &instance{
				name: name, function: pair.function, path: pair.path, spared: name == pair.spared,
			})
		}
	}
	c.push(c.f.front.URL+"/"+c.topic(topicID), "")
	return c.f
}

// restartFirestore ends Firestore in the middle of whatever it does, and starts it with what was committed.
func (c *soakedCloud) restartFirestore() {
	c.firestoreWire.cut()
	next, err := harness.RestartFirestore(c.t.Context(), c.firestore, c.project)
	if err != nil {
		c.t.Fatal(err)
	}
	c.firestore = next
	c.firestoreWire.join(next.Addr())
}

// restartPubSub ends Pub/Sub with every message that it holds. The topic and its subscription are
// there again before any process can reach it.
func (c *soakedCloud) restartPubSub() {
	c.pubsubWire.cut()
	c.pubsub.Stop()
	next, err := emulator.StartPubSub(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	c.pubsub = next
	admin, err := pubsub.NewClient(c.t.Context(), c.project, dial.Options(next.Addr())...)
	if err != nil {
		c.t.Fatal(err)
	}
	_, err = admin.TopicAdminClient.CreateTopic(c.t.Context(), &pubsubpb.Topic{Name: c.topic(topicID)})
	if err == nil {
		_, err = admin.SubscriptionAdminClient.CreateSubscription(c.t.Context(),
			c.pushTo(c.f.front.URL+"/"+c.topic(topicID)))
	}
	if err = errors.Join(err, admin.Close()); err != nil {
		c.t.Fatal(err)
	}
	c.pubsubWire.join(next.Addr())
}
