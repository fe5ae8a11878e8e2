import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Ends what outlived its workspace or API key: destinations, rules of notifications, hashes in lists of keys. */
export const workspaceRecords: Migration = {
  async up(db) {
    await sql`update destinations set enabled = 0, sealed_secrets = '', secrets_origin = null,
      deleted_at = (select deleted_at from workspaces where workspaces.id = destinations.workspace_id)
      where deleted_at is null
      and workspace_id in (select id from workspaces where deleted_at is not null)`.execute(db)
    await sql`delete from notification_rules
      where workspace_id in (select id from workspaces where deleted_at is not null)`.execute(db)
    await removeUnknownKeys(db, 'destinations', 'api_key_hashes')
    await removeUnknownKeys(db, 'byok_keys', 'allowed_api_key_hashes')
  },
}

/** An empty list still means no key. The lists are few: an operator enters them. */
async function removeUnknownKeys(db: Kysely<unknown>, table: string, column: string): Promise<void> {
  const [from, hashes] = [sql.table(table), sql.ref(column)]
  const { rows } = await sql<{ id: string; workspace_id: string | null; hashes: string }>`
    select id, workspace_id, ${hashes} as hashes from ${from}
    where ${hashes} is not null and deleted_at is null`.execute(db)
  for (const { id, workspace_id, hashes: text } of rows) {
    const listed: string[] = JSON.parse(text)
    if (listed.length === 0) continue
    const { rows: keys } = await sql<{ hash: string }>`select hash from api_keys
      where workspace_id = ${workspace_id} and hash in (${sql.join(listed)})`.execute(db)
    const known = new Set(keys.map(({ hash }) => hash))
    const rest = listed.filter((hash) => known.has(hash))
    if (rest.length === listed.length) continue
    await sql`update ${from} set ${hashes} = ${JSON.stringify(rest)} where id = ${id}`.execute(db)
  }
}
