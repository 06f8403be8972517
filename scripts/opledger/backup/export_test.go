package backup

type LostEffect = lostEffect
