package webhook

const StoreTries = storeTries

type Finding = finding
