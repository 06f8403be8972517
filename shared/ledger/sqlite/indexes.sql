-- The indexes over fields of the body, of operations alone. query.go writes the same expressions, or
-- SQLite would not see that an index answers a query: TestEveryQueryUsesItsIndex holds both together.
-- They are made in any file that lacks them, and the schema keeps its number. A program that knows
-- none of them keeps them up all the same, and a query without its index is slow and not wrong.
CREATE INDEX IF NOT EXISTS ended ON documents (
    collection, rtrim(CASE WHEN json_valid(body) THEN body ->> '$.settledAt' END, 'Z'), position
) WHERE collection = 'operations' AND rtrim(CASE WHEN json_valid(body) THEN body ->> '$.settledAt' END, 'Z') IS NOT NULL;

CREATE INDEX IF NOT EXISTS conflicted ON documents (
    collection, rtrim(CASE WHEN json_valid(body) THEN body ->> '$.conflictAt' END, 'Z'), position
) WHERE collection = 'operations' AND rtrim(CASE WHEN json_valid(body) THEN body ->> '$.conflictAt' END, 'Z') IS NOT NULL;
