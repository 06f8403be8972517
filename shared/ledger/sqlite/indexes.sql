-- The indexes over fields of the body. query.go writes the same expressions, or
-- SQLite would not see that an index answers a query: TestEveryQueryUsesItsIndex holds both together.
-- They are made in any file that lacks them, and the schema keeps its number. A program that knows
-- none of them keeps them up all the same, and a query without its index is slow and not wrong.
CREATE INDEX IF NOT EXISTS ended ON documents (
    collection, rtrim(CASE WHEN json_valid(body) THEN body ->> '$.settledAt' END, 'Z'), position
) WHERE collection = 'operations' AND rtrim(CASE WHEN json_valid(body) THEN body ->> '$.settledAt' END, 'Z') IS NOT NULL;

CREATE INDEX IF NOT EXISTS conflicted ON documents (
    collection, rtrim(CASE WHEN json_valid(body) THEN body ->> '$.conflictAt' END, 'Z'), position
) WHERE collection = 'operations' AND rtrim(CASE WHEN json_valid(body) THEN body ->> '$.conflictAt' END, 'Z') IS NOT NULL;

-- The items of an effect that are tried again, the one that has waited longest first.
CREATE INDEX IF NOT EXISTS waiting ON documents (
    parent, collection, rtrim(CASE WHEN json_valid(body) THEN body ->> '$.waitingSince' END, 'Z'), position
) WHERE collection = 'items' AND rtrim(CASE WHEN json_valid(body) THEN body ->> '$.waitingSince' END, 'Z') IS NOT NULL;

-- What needs an operator, while it does: late and unregistered operations, failing effects, bodies that
-- could not be read.
CREATE INDEX IF NOT EXISTS late ON documents (
    collection, rtrim(CASE WHEN json_valid(body) THEN body ->> '$.lateAt' END, 'Z'), position
) WHERE collection = 'operations' AND rtrim(CASE WHEN json_valid(body) THEN body ->> '$.lateAt' END, 'Z') IS NOT NULL;

CREATE INDEX IF NOT EXISTS unregistered ON documents (
    collection, rtrim(CASE WHEN json_valid(body) THEN body ->> '$.unresolvedAt' END, 'Z'), position
) WHERE collection = 'operations' AND rtrim(CASE WHEN json_valid(body) THEN body ->> '$.unresolvedAt' END, 'Z') IS NOT NULL;

CREATE INDEX IF NOT EXISTS failing ON documents (
    collection, rtrim(CASE WHEN json_valid(body) THEN body ->> '$.failingSince' END, 'Z'), position
) WHERE collection = 'effects' AND rtrim(CASE WHEN json_valid(body) THEN body ->> '$.failingSince' END, 'Z') IS NOT NULL;

CREATE INDEX IF NOT EXISTS unresolved ON documents (
    collection, rtrim(CASE WHEN json_valid(body) THEN body ->> '$.unresolvedAt' END, 'Z'), position
) WHERE collection = 'quarantine' AND rtrim(CASE WHEN json_valid(body) THEN body ->> '$.unresolvedAt' END, 'Z') IS NOT NULL;

-- The lists of operations, newest first.
CREATE INDEX IF NOT EXISTS of_state ON documents (
    collection, CASE WHEN json_valid(body) THEN body ->> '$.state' END, listed_at, position
) WHERE collection = 'operations' AND listed_at IS NOT NULL;

CREATE INDEX IF NOT EXISTS of_collection ON documents (
    collection, CASE WHEN json_valid(body) THEN body ->> '$.collection' END, listed_at, position
) WHERE collection = 'operations' AND listed_at IS NOT NULL;

CREATE INDEX IF NOT EXISTS of_state_and_collection ON documents (
    collection, CASE WHEN json_valid(body) THEN body ->> '$.state' END,
    CASE WHEN json_valid(body) THEN body ->> '$.collection' END, listed_at, position
) WHERE collection = 'operations' AND listed_at IS NOT NULL;

CREATE INDEX IF NOT EXISTS of_job_kind ON documents (
    collection, CASE WHEN json_valid(body) THEN body ->> '$.jobKind' END, listed_at, position
) WHERE collection = 'operations' AND listed_at IS NOT NULL AND CASE WHEN json_valid(body) THEN body ->> '$.jobKind' END IS NOT NULL;

CREATE INDEX IF NOT EXISTS dead ON documents (
    collection, CASE WHEN json_valid(body) THEN body ->> '$.deadEffect' END, listed_at, position
) WHERE collection = 'operations' AND listed_at IS NOT NULL AND CASE WHEN json_valid(body) THEN body ->> '$.deadEffect' END IS NOT NULL;

-- Dead effects that no record names.
CREATE INDEX IF NOT EXISTS without_record ON documents (
    collection, CASE WHEN json_valid(body) THEN body ->> '$.withoutRecord' END, listed_at, position
) WHERE collection = 'effects' AND listed_at IS NOT NULL AND CASE WHEN json_valid(body) THEN body ->> '$.withoutRecord' END IS NOT NULL;

-- The deliveries of one id, which are of any operation.
CREATE INDEX IF NOT EXISTS of_delivery ON documents (
    collection, CASE WHEN json_valid(body) THEN body ->> '$.id' END, listed_at, position
) WHERE collection = 'deliveries' AND listed_at IS NOT NULL;
