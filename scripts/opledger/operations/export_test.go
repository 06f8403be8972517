package operations

const WaitEvery = waitEvery

type DeadEffect = deadEffect
type EffectJSON = effectJSON
type StoryJSON = storyJSON
