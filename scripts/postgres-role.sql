-- Sets up a role that may work in a yard and change nothing else. Run it as the owner of the database:
--
--     psql --set=schema=taskyard --set=role=agents --file=scripts/postgres-role.sql DATABASE
--
-- The tables must be there: the first command of somebody who may make them makes them (`taskyard lists` does not write; `taskyard create`
-- does), and so does the first write of a newer release. Then run this again.
\set ON_ERROR_STOP on
BEGIN;
SELECT format('CREATE ROLE %I LOGIN', :'role')
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec
GRANT USAGE ON SCHEMA :"schema" TO :"role";
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"role";
GRANT INSERT ON ALL TABLES IN SCHEMA :"schema" TO :"role";
-- The journal is only ever added to.
GRANT UPDATE ON :"schema".lists, :"schema".tasks, :"schema".lease_clocks, :"schema".leases, :"schema".teams,
    :"schema".seats, :"schema".messages, :"schema".notices, :"schema".todos, :"schema".alive TO :"role";
GRANT DELETE ON :"schema".tasks, :"schema".teams, :"schema".seats, :"schema".messages, :"schema".letters,
    :"schema".alive TO :"role";
REVOKE INSERT ON :"schema".yard FROM :"role";
-- Whoever finds that the database went back in time begins a new epoch.
GRANT UPDATE (epoch, epoch_began, timeline) ON :"schema".yard TO :"role";
GRANT USAGE ON ALL SEQUENCES IN SCHEMA :"schema" TO :"role";
COMMIT;
