import { sql } from 'kysely'
import type { Vault } from '../platform/crypto/crypto.ts'
import type { Db } from '../platform/db/db.ts'
import { asObject, type JsonObject } from '../platform/json/json-values.ts'

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
  { db, vault }: { db: Db; vault: Vault },
  scope: PromptScope,
  start: ContentPosition | null,
): AsyncGenerator<StoredPrompt> {
  for (let position = start; ; ) {
    const rows = await readBatch(db, scope, position)
    for (const { sealed_content, created_at, generation_id, key_id, user_id } of rows) {
      const content = asObject(JSON.parse(vault.decrypt(sealed_content, generation_id)))
      const input = asObject(content?.input) ?? {}
      position = { created_at, generation_id }
      yield { ...position, keyId: key_id, userId: user_id, bytes: sealed_content.length, input }
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
