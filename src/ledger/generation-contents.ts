import type { Vault } from '../platform/crypto/crypto.ts'
import type { Statement } from '../platform/db/batch.ts'
import type { Db } from '../platform/db/db.ts'
import type { JsonObject } from '../platform/json/json-values.ts'

/** The owner of the generation, and when it began. */
export interface ContentOwner {
  generationId: string
  organizationId: string
  workspaceId: string
  createdAt: string
}

/** Written in the transaction that charges for the generation; repeating it changes nothing. */
export function buildContentStatement(
  db: Db,
  vault: Vault,
  owner: ContentOwner,
  content: JsonObject,
): Statement {
  const { sql, parameters } = db
    .insertInto('generation_contents')
    .values({
      generation_id: owner.generationId,
      organization_id: owner.organizationId,
      workspace_id: owner.workspaceId,
      sealed_content: vault.encrypt(JSON.stringify(content), owner.generationId),
      created_at: owner.createdAt,
    })
    .onConflict((conflict) => conflict.column('generation_id').doNothing())
    .compile()
  return { sql, values: parameters }
}
