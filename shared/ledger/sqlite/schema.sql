-- One table holds every document. The columns beside the body repeat what queries need of it.
CREATE TABLE documents (
    path       TEXT    NOT NULL PRIMARY KEY,
    collection TEXT    NOT NULL, -- the last collection word of the path
    parent     TEXT    NOT NULL, -- the document it is directly under, or empty
    version    INTEGER NOT NULL, -- from the sequence below: no two writes ever have the same
    body       TEXT    NOT NULL, -- JSON
    due_at     INTEGER,          -- microseconds since 1970, like the others
    listed_at  INTEGER,          -- createdAt or receivedAt
    failed_at  INTEGER,
    expire_at  INTEGER,
    -- paths in the order of their segments: "a/x" before "a-b/x"
    position   TEXT    NOT NULL GENERATED ALWAYS AS (replace(path, '/', char(1))) STORED
) STRICT;

CREATE INDEX due ON documents (collection, due_at, position) WHERE due_at IS NOT NULL;
CREATE INDEX listed ON documents (collection, listed_at, position) WHERE listed_at IS NOT NULL;
CREATE INDEX children ON documents (parent, collection, listed_at, position);
CREATE INDEX failed ON documents (parent, collection, failed_at, position) WHERE failed_at IS NOT NULL;
CREATE INDEX expiring ON documents (expire_at) WHERE expire_at IS NOT NULL;

-- One row: the last version, and of the clock the highest time of a commit and when it leapt.
CREATE TABLE sequence (
    last    INTEGER NOT NULL,
    highest INTEGER NOT NULL DEFAULT 0,
    leapt   INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO sequence (last) VALUES (0);
