import { createIndex, type IndexDefinition, type SchemaMigration } from '../migrate/steps.ts'

/**
 * Finds requests by ids that do not say when: those of clients, of providers and of sessions. PostgreSQL has hashes of
 * them, which take a third of the bytes. A session is read in the order of its requests. Request ids of this server
 * need no index, because they begin with the time.
 */
export const requestIds: SchemaMigration = {
  steps: [
    createIndex(bySession('generations')),
    createIndex(bySession('refused_requests')),
    createIndex(byClientId('generations')),
    createIndex(byClientId('refused_requests')),
    createIndex({
      name: 'generations_by_upstream_id',
      table: 'generations',
      columns: ['upstream_id'],
      columnsOnPostgres: ['hashtextextended(upstream_id, 0)'],
      where: 'upstream_id is not null',
    }),
    createIndex({
      name: 'audit_entries_by_id',
      table: 'audit_entries',
      columns: ['chain_id', 'id', 'created_at', 'seq'],
    }),
  ],
}

function bySession(table: string): IndexDefinition {
  return {
    ...{ name: `${table}_by_session`, table, where: 'session_id is not null' },
    columns: ['session_id', 'created_at'],
    columnsOnPostgres: ['hashtextextended(session_id, 0)', 'created_at'],
  }
}

function byClientId(table: string): IndexDefinition {
  return {
    ...{ name: `${table}_by_client_id`, table },
    columns: ['request_id'],
    columnsOnPostgres: ['hashtextextended(request_id, 0)'],
    where: "substr(request_id, 1, 4) <> 'req_' or length(request_id) <> 28",
  }
}
