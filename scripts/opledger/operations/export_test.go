package operations

const WaitEvery = waitEvery

type DeadEffect = deadEffect
type EffectJSON = effectJSON
type ResolvedJSON = resolvedJSON
type StoryJSON = storyJSON
