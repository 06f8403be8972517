package intents

type AbandonedIntentJSON = abandonedIntentJSON
