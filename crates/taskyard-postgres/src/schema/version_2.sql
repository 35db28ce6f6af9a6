-- Epochs. An epoch is one history of the database: a process that finds that the database has lost what it knew begins another.
-- `lists` is altered first: a transaction of an older release locks a list before it reads `yard`.
ALTER TABLE @.lists ADD COLUMN head text;
UPDATE @.lists l SET head =
    (SELECT c.attempt FROM @.changes c WHERE c.list = l.id AND c.revision = l.revision AND c.place = 0);
ALTER TABLE @.yard
    ADD COLUMN epoch text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
    ADD COLUMN epoch_began bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    ADD COLUMN timeline bigint;
-- One row for each epoch there was, with the list whose loss was noticed first.
CREATE TABLE @.epochs (
    epoch text PRIMARY KEY,
    began bigint NOT NULL,
    timeline bigint,
    list text,
    known bigint,
    found bigint
);
INSERT INTO @.epochs (epoch, began) SELECT epoch, epoch_began FROM @.yard;
-- Heartbeats.
-- One row for each process that holds leases or a seat: when it was last alive, by the server's clock.
CREATE TABLE @.alive (
    process text PRIMARY KEY,
    machine text NOT NULL,
    boot text NOT NULL,
    pid bigint NOT NULL,
    agent text NOT NULL,
    seen_at bigint NOT NULL
) WITH (fillfactor = 50);
-- The process that a lease lives with, as `alive` names it. Leases of version 1 name none there and live by their time.
ALTER TABLE @.leases ADD COLUMN process text;
-- Moving lists: where a list goes or has gone, and the token of the move that brought it here.
ALTER TABLE @.lists ADD COLUMN moved text;
ALTER TABLE @.lists ADD COLUMN came_by text;
-- Who did it: the database user that wrote an entry, which no client can choose, and whether the entry was copied with its list from another
-- store. Entries of version 1 have none.
ALTER TABLE @.changes ADD COLUMN db_user text, ADD COLUMN is_copy boolean NOT NULL DEFAULT false;
ALTER TABLE @.changes ALTER COLUMN db_user SET DEFAULT session_user;
