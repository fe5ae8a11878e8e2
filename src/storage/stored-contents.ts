import { sql } from 'kysely'
import type { Gateway } from '../gateway/gateway.ts'
import type { Vault } from '../platform/crypto/crypto.ts'
import type { Db } from '../platform/db/db.ts'
import { asObject, type JsonObject } from '../platform/json/json-values.ts'
import { PackReader } from './content-packs.ts'

/** The place of a stored prompt in a list. */
export interface ContentPosition {
  created_at: string
  generation_id: string
}

export interface StoredPrompt extends ContentPosition {
  /** Null if the generation is no longer on record. */
  keyId: number | null
  userId: string | null
  /** Size in storage. */
  bytes: number
  /** `prompt`, or `messages` in the format of the client. */
  input: JsonObject
}

interface PromptScope {
  organizationId: string
  /** Null: all. */
  workspaceIds: ReadonlySet<string> | null
  from: string
}

/** Prompts per query: few, because each can be a megabyte. */
const batchSize = 10

/** The prompts that workspaces have stored, newest first, beginning behind a position. */
export async function* walkPrompts(
  { db, vault, settings }: { db: Db; vault: Vault; settings: Gateway['settings'] },
  scope: PromptScope,
  start: ContentPosition | null,
): AsyncGenerator<StoredPrompt> {
  const packs = new PackReader({ settings })
  for (let position = start; ; ) {
    const rows = await readBatch(db, scope, position)
    for (const row of rows) {
      const { created_at, generation_id, key_id, user_id } = row
      position = { created_at, generation_id }
      const sealed = await packs.read(row)
      // It expired since the batch was read.
      if (sealed === null) continue
      const content = asObject(JSON.parse(vault.decrypt(sealed, generation_id)))
      const input = asObject(content?.input) ?? {}
      yield { ...position, keyId: key_id, userId: user_id, bytes: sealed.length, input }
    }
    if (rows.length < batchSize) return
  }
}

async function readBatch(db: Db, scope: PromptScope, position: ContentPosition | null) {
  const { organizationId, workspaceIds, from } = scope
  return db
    .selectFrom('generation_contents as content')
    .leftJoin('generations', 'generations.id', 'content.generation_id')
    .select([
      'content.generation_id',
      'content.created_at',
      'content.sealed_content',
      'content.pack',
      'content.pack_offset',
      'content.pack_length',
      'generations.key_id',
      'generations.user_id',
    ])
    .where('content.organization_id', '=', organizationId)
    .where('content.created_at', '>=', from)
    .$if(workspaceIds !== null, (query) =>
      query.where('content.workspace_id', 'in', [...(workspaceIds ?? [])]),
    )
    .$if(position !== null, (query) =>
      query.where(
        sql<boolean>`(content.created_at, content.generation_id) < (${position?.created_at}, ${position?.generation_id})`,
      ),
    )
    .orderBy('content.created_at', 'desc')
    .orderBy('content.generation_id', 'desc')
    .limit(batchSize)
    .execute()
}

/** The prompts of these generations, of those that have one. Bounded by the caller: each can be a megabyte. */
export async function* readPrompts(
  { db, vault, settings }: { db: Db; vault: Vault; settings: Gateway['settings'] },
  organizationId: string,
  ids: readonly string[],
): AsyncGenerator<Pick<StoredPrompt, 'generation_id' | 'bytes' | 'input'>> {
  const packs = new PackReader({ settings })
  for (let at = 0; at < ids.length; at += batchSize) {
    const rows = await db
      .selectFrom('generation_contents')
      .selectAll()
      .where('organization_id', '=', organizationId)
      .where('generation_id', 'in', ids.slice(at, at + batchSize))
      .execute()
    for (const row of rows) {
      const { generation_id } = row
      const sealed = await packs.read(row)
      if (sealed === null) continue
      const content = asObject(JSON.parse(vault.decrypt(sealed, generation_id)))
      yield { generation_id, bytes: sealed.length, input: asObject(content?.input) ?? {} }
    }
  }
}
