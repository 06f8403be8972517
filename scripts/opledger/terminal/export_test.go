package terminal

const WatchEvery = watchEvery
