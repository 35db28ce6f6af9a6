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
-- Rights by list. A role may read a list, or work on it; the list 0 stands for all of them, and -1 for those that the role makes.
-- `public` is everybody.
-- The owner of the tables is not restricted. Rows that a role may not see are not there for it.
CREATE TABLE @.grants (
    list bigint NOT NULL,
    directory text COLLATE "C" NOT NULL,
    role text NOT NULL,
    may_write boolean NOT NULL,
    PRIMARY KEY (list, role),
    CHECK ((list = 0) = (directory = ''))
);
CREATE INDEX grants_by_directory ON @.grants (directory);
-- Roles of version 1 keep what they had.
INSERT INTO @.grants (list, directory, role, may_write)
    SELECT 0, '', role, bool_or(privilege_type = 'INSERT') FROM (
        SELECT coalesce((SELECT r.rolname::text FROM pg_roles r WHERE r.oid = acl.grantee), 'public') AS role,
            acl.privilege_type, acl.grantee, c.relowner
        FROM pg_class c, aclexplode(c.relacl) AS acl WHERE c.oid = to_regclass($$@.lists$$)) AS given
    WHERE grantee <> relowner AND privilege_type IN ('SELECT', 'INSERT') GROUP BY role;
ALTER TABLE @.grants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON @.grants FOR SELECT
    USING (role IN (current_user, 'public') OR pg_has_role(to_regrole(quote_ident(role)), 'MEMBER'));
-- Tells whether a list exists, also to a role that may not see it: what such a role misses is not lost.
CREATE FUNCTION @.list_exists(wanted text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$ SELECT EXISTS (SELECT FROM @.lists WHERE directory = wanted) $$;
-- Whoever makes a list may work on it.
CREATE FUNCTION @.grant_to_maker() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    maker text := coalesce(nullif(current_setting('role'), 'none'), session_user);
BEGIN
    IF NOT pg_has_role(maker, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE')
        AND NOT EXISTS (SELECT FROM @.grants g WHERE g.list = 0 AND g.may_write
            AND (g.role = 'public' OR pg_has_role(maker, to_regrole(quote_ident(g.role)), 'MEMBER')))
    THEN
        INSERT INTO @.grants (list, directory, role, may_write) VALUES (NEW.id, NEW.directory, maker, true);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER grant_to_maker AFTER INSERT ON @.lists FOR EACH ROW EXECUTE FUNCTION @.grant_to_maker();
-- Each row takes one look into `grants`, by an index. (`EXISTS` with a plain equation would read all grants of all roles.)
ALTER TABLE @.lists ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON @.lists FOR SELECT USING (EXISTS (SELECT FROM @.grants g WHERE g.list IN (lists.id, 0)));
CREATE POLICY making ON @.lists FOR INSERT WITH CHECK (true);
CREATE POLICY writing ON @.lists FOR UPDATE USING (EXISTS (SELECT FROM @.grants g WHERE g.list IN (lists.id, 0)))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.list IN (lists.id, 0) AND g.may_write));
ALTER TABLE @.tasks ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.tasks USING (EXISTS (SELECT FROM @.grants g WHERE g.list IN (tasks.list, 0)))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.list IN (tasks.list, 0) AND g.may_write));
CREATE POLICY removing ON @.tasks AS RESTRICTIVE FOR DELETE
    USING (EXISTS (SELECT FROM @.grants g WHERE g.list IN (tasks.list, 0) AND g.may_write));
ALTER TABLE @.changes ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.changes USING (EXISTS (SELECT FROM @.grants g WHERE g.list IN (changes.list, 0)))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.list IN (changes.list, 0) AND g.may_write));
ALTER TABLE @.lease_clocks ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.lease_clocks USING (EXISTS (SELECT FROM @.grants g WHERE g.list IN (lease_clocks.list, 0)))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.list IN (lease_clocks.list, 0) AND g.may_write));
ALTER TABLE @.leases ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.leases USING (EXISTS (SELECT FROM @.grants g WHERE g.list IN (leases.list, 0)))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.list IN (leases.list, 0) AND g.may_write));
-- A team belongs to the list of its name, and so do its seats, messages and letters. A notice names its list.
ALTER TABLE @.teams ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.teams USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (teams.directory COLLATE "C", '')))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (teams.directory COLLATE "C", '') AND g.may_write));
CREATE POLICY removing ON @.teams AS RESTRICTIVE FOR DELETE
    USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (teams.directory COLLATE "C", '') AND g.may_write));
ALTER TABLE @.seats ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.seats USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (seats.team COLLATE "C", '')))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (seats.team COLLATE "C", '') AND g.may_write));
CREATE POLICY removing ON @.seats AS RESTRICTIVE FOR DELETE
    USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (seats.team COLLATE "C", '') AND g.may_write));
ALTER TABLE @.messages ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.messages USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (messages.team COLLATE "C", '')))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (messages.team COLLATE "C", '') AND g.may_write));
CREATE POLICY removing ON @.messages AS RESTRICTIVE FOR DELETE
    USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (messages.team COLLATE "C", '') AND g.may_write));
ALTER TABLE @.letters ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.letters USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (letters.team COLLATE "C", '')))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (letters.team COLLATE "C", '') AND g.may_write));
CREATE POLICY removing ON @.letters AS RESTRICTIVE FOR DELETE
    USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (letters.team COLLATE "C", '') AND g.may_write));
ALTER TABLE @.notices ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.notices USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (notices.list COLLATE "C", '')))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (notices.list COLLATE "C", '') AND g.may_write));
-- A todo list belongs to the role that wrote it, and to roles that may work on all lists.
ALTER TABLE @.todos ADD COLUMN role text;
ALTER TABLE @.todos ALTER COLUMN role SET DEFAULT current_user;
ALTER TABLE @.todos ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON @.todos USING (pg_has_role(to_regrole(quote_ident(role)), 'MEMBER')
    OR EXISTS (SELECT FROM @.grants g WHERE g.list = 0 AND g.may_write));
-- Every role sees which processes live, without their agents, and renews its own. What is in the future or long silent, any of them mends.
ALTER TABLE @.alive ADD COLUMN role text NOT NULL DEFAULT current_user;
ALTER TABLE @.alive ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON @.alive FOR SELECT USING (true);
CREATE POLICY beginning ON @.alive FOR INSERT WITH CHECK (true);
CREATE POLICY renewing ON @.alive FOR UPDATE
    USING (role = current_user OR pg_has_role(to_regrole(quote_ident(role)), 'MEMBER')
        OR seen_at > (extract(epoch FROM clock_timestamp()) * 1000)::bigint) WITH CHECK (true);
CREATE POLICY ending ON @.alive FOR DELETE
    USING (role = current_user OR pg_has_role(to_regrole(quote_ident(role)), 'MEMBER')
        OR seen_at < (extract(epoch FROM clock_timestamp() - interval '30 days') * 1000)::bigint);
-- An epoch names the list whose loss was noticed.
ALTER TABLE @.epochs ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON @.epochs FOR SELECT
    USING (list IS NULL OR EXISTS (SELECT FROM @.grants g WHERE g.directory IN (epochs.list COLLATE "C", '')));
CREATE POLICY beginning ON @.epochs FOR INSERT WITH CHECK (true);
-- Jobs of all machines.
-- One row for each job: what its supervisor reported last, with the end of its output, and whether it is to be stopped.
CREATE TABLE @.jobs (
    job text PRIMARY KEY,
    list text NOT NULL,
    agent text NOT NULL,
    task text,
    name text,
    machine text NOT NULL,
    host text NOT NULL,
    process text NOT NULL,
    state text NOT NULL,
    began bigint NOT NULL,
    ended bigint,
    output_size bigint NOT NULL,
    tail bytea NOT NULL,
    body text NOT NULL,
    changed_at bigint NOT NULL,
    stop_requested_at bigint,
    stop_requested_by text
) WITH (fillfactor = 50);
CREATE INDEX jobs_of_list ON @.jobs (list, began);
-- Pieces of output that other machines ask for, until they have read the answer.
CREATE TABLE @.output_requests (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    job text NOT NULL,
    starts_at bigint NOT NULL,
    length bigint NOT NULL,
    asked_at bigint NOT NULL,
    found_at bigint,
    answer bytea,
    answered_at bigint
);
CREATE INDEX output_requests_of_job ON @.output_requests (job, id);
ALTER TABLE @.jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.jobs USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (jobs.list COLLATE "C", '')))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (jobs.list COLLATE "C", '') AND g.may_write));
CREATE POLICY removing ON @.jobs AS RESTRICTIVE FOR DELETE
    USING (EXISTS (SELECT FROM @.grants g WHERE g.directory IN (jobs.list COLLATE "C", '') AND g.may_write));
-- Output belongs to its job.
ALTER TABLE @.output_requests ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_job ON @.output_requests USING (EXISTS (SELECT FROM @.jobs j WHERE j.job = output_requests.job));
-- Versions and channels.
-- One row for each kind of thing that changes seldom: how many changes of it there were. Every transaction reads all of them.
CREATE TABLE @.versions (
    kind text PRIMARY KEY,
    version bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO @.versions (kind) VALUES ('messages'), ('names'), ('notices'), ('teams');
-- A role that raises a count cannot lower it, nor leave it as it is: the processes of other roles rely on it.
CREATE FUNCTION @.raise_version() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    NEW.version := OLD.version + 1;
    RETURN NEW;
END $$;
CREATE TRIGGER raise_version BEFORE UPDATE ON @.versions FOR EACH ROW EXECUTE FUNCTION @.raise_version();
ALTER TABLE @.versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON @.versions FOR SELECT USING (true);
CREATE POLICY raising ON @.versions FOR UPDATE USING (true);
-- The channels on which commits to a list are told: to roles that may read it, without what happened, and to roles that may work on it,
-- with that. LISTEN and NOTIFY know no privileges, so each name is a secret of those roles.
ALTER TABLE @.lists ADD COLUMN channel text NOT NULL
    DEFAULT 'taskyard_' || replace(gen_random_uuid()::text, '-', '');
CREATE TABLE @.commit_channels (
    list bigint PRIMARY KEY,
    channel text NOT NULL DEFAULT 'taskyard_' || replace(gen_random_uuid()::text, '-', '')
);
INSERT INTO @.commit_channels (list) SELECT id FROM @.lists;
CREATE FUNCTION @.make_commit_channel() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    -- A list that is put back from a copy has one.
    INSERT INTO @.commit_channels (list) VALUES (NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER make_commit_channel AFTER INSERT ON @.lists FOR EACH ROW EXECUTE FUNCTION @.make_commit_channel();
ALTER TABLE @.commit_channels ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON @.commit_channels FOR SELECT
    USING (EXISTS (SELECT FROM @.grants g WHERE g.list IN (commit_channels.list, 0) AND g.may_write));
-- One row for each task that names another: as its blocker, as one that waits for it, or as its parent. A process that has to do with one
-- task finds by it what the task is tied to. The ties of lists of version 1 are written by the first commit that knows the whole list.
CREATE TABLE @.ties (
    list bigint NOT NULL,
    target text NOT NULL,
    task text NOT NULL,
    PRIMARY KEY (list, target, task)
);
CREATE INDEX ties_of_task ON @.ties (list, task);
ALTER TABLE @.lists ADD COLUMN has_ties boolean NOT NULL DEFAULT false;
ALTER TABLE @.lists ALTER COLUMN has_ties SET DEFAULT true;
ALTER TABLE @.ties ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_list ON @.ties USING (EXISTS (SELECT FROM @.grants g WHERE g.list IN (ties.list, 0)))
    WITH CHECK (EXISTS (SELECT FROM @.grants g WHERE g.list IN (ties.list, 0) AND g.may_write));
CREATE POLICY removing ON @.ties AS RESTRICTIVE FOR DELETE
    USING (EXISTS (SELECT FROM @.grants g WHERE g.list IN (ties.list, 0) AND g.may_write));
