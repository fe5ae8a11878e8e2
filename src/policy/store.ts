import type { ApiKey } from '../account/keys.ts'
import type { Db } from '../db/db.ts'
import { organizationGuardrail, workspaceGuardrail } from './default-guardrail.ts'
import type { Layers } from './effective.ts'
import { type GuardrailRow, guardrailOf } from './guardrail.ts'

/** The guardrails that apply to a key. A management key sends no inference: only its organization speaks. */
export async function loadLayers(db: Db, key: ApiKey): Promise<Layers> {
  const inference = key.kind === 'inference'
  const ids = {
    organization: organizationGuardrail(key.organization_id).id,
    workspace: workspaceGuardrail(key.workspace_id).id,
  }
  const [standing, member, own] = await Promise.all([
    standingGuardrails(db, key.organization_id, inference ? Object.values(ids) : [ids.organization]),
    inference ? memberGuardrail(db, key) : undefined,
    inference ? keyGuardrail(db, key) : undefined,
  ])
  const parsed = (row: GuardrailRow | undefined) => row && guardrailOf(row)
  return {
    organization: parsed(standing.get(ids.organization)),
    workspace: parsed(standing.get(ids.workspace)),
    member: parsed(member),
    key: parsed(own),
  }
}

/** What holds for everybody in a workspace. */
export async function loadWorkspaceLayers(
  db: Db,
  organizationId: string,
  workspaceId: string,
): Promise<Layers> {
  const organization = organizationGuardrail(organizationId).id
  const workspace = workspaceGuardrail(workspaceId).id
  const standing = await standingGuardrails(db, organizationId, [organization, workspace])
  const layer = (id: string) => {
    const row = standing.get(id)
    return row && guardrailOf(row)
  }
  return { organization: layer(organization), workspace: layer(workspace), member: undefined, key: undefined }
}

async function standingGuardrails(
  db: Db,
  organizationId: string,
  ids: string[],
): Promise<Map<string, GuardrailRow>> {
  const rows = await db
    .selectFrom('guardrails')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

async function memberGuardrail(db: Db, key: ApiKey): Promise<GuardrailRow | undefined> {
  if (key.creator_user_id === null) return undefined
  return db
    .selectFrom('guardrail_members')
    .innerJoin('guardrails', 'guardrails.id', 'guardrail_members.guardrail_id')
    .selectAll('guardrails')
    .where('guardrail_members.organization_id', '=', key.organization_id)
    .where('guardrail_members.user_id', '=', key.creator_user_id)
    .where('guardrail_members.workspace_id', '=', key.workspace_id)
    .executeTakeFirst()
}

async function keyGuardrail(db: Db, key: ApiKey): Promise<GuardrailRow | undefined> {
  return db
    .selectFrom('guardrail_keys')
    .innerJoin('guardrails', 'guardrails.id', 'guardrail_keys.guardrail_id')
    .selectAll('guardrails')
    .where('guardrail_keys.organization_id', '=', key.organization_id)
    .where('guardrail_keys.key_id', '=', key.id)
    .executeTakeFirst()
}
