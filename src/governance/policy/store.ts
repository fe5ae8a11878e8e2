import { isAliasRule, loadRuleExpansion } from '../../catalog/aliases.ts'
import type { ApiKey } from '../../identity/keys.ts'
import type { Db } from '../../platform/db/db.ts'
import { buildOrganizationGuardrail, buildWorkspaceGuardrail } from './default-guardrail.ts'
import type { Layers } from './effective.ts'
import { type Guardrail, type GuardrailRow, parseGuardrail } from './guardrail.ts'

/** The guardrails that apply to a key. For a management key, only those of its organization. */
export async function loadLayers(db: Db, key: ApiKey): Promise<Layers> {
  const isInference = key.kind === 'inference'
  const ids = {
    organization: buildOrganizationGuardrail(key.organization_id).id,
    workspace: buildWorkspaceGuardrail(key.workspace_id).id,
  }
  const [defaults, member, keyRow] = await Promise.all([
    loadDefaultGuardrails(db, key.organization_id, isInference ? Object.values(ids) : [ids.organization]),
    isInference ? loadMemberGuardrail(db, key) : undefined,
    isInference ? loadKeyGuardrail(db, key) : undefined,
  ])
  const toGuardrail = (row: GuardrailRow | undefined) => row && parseGuardrail(row)
  const layers = {
    organization: toGuardrail(defaults.get(ids.organization)),
    workspace: toGuardrail(defaults.get(ids.workspace)),
    member: toGuardrail(member),
    key: toGuardrail(keyRow),
  }
  return expandAliases(db, key, layers)
}

/** Replaces aliases in the lists of models by the models that they stand for now. */
export async function expandAliases(
  db: Db,
  place: Pick<ApiKey, 'organization_id' | 'workspace_id'>,
  layers: Layers,
): Promise<Layers> {
  const usesAliases = Object.values(layers).some((layer?: Guardrail) =>
    [layer?.allowed_models, layer?.ignored_models].some((rules) => rules?.some(isAliasRule)),
  )
  if (!usesAliases) return layers
  const expand = await loadRuleExpansion(db, place)
  const expandLayer = (layer: Guardrail | undefined) =>
    layer && {
      ...layer,
      allowed_models: expand(layer.allowed_models),
      ignored_models: expand(layer.ignored_models),
    }
  return {
    organization: expandLayer(layers.organization),
    workspace: expandLayer(layers.workspace),
    member: expandLayer(layers.member),
    key: expandLayer(layers.key),
  }
}

/** The guardrails that apply to everyone in a workspace. */
export async function loadWorkspaceLayers(
  db: Db,
  organizationId: string,
  workspaceId: string,
): Promise<Layers> {
  const organization = buildOrganizationGuardrail(organizationId).id
  const workspace = buildWorkspaceGuardrail(workspaceId).id
  const defaults = await loadDefaultGuardrails(db, organizationId, [organization, workspace])
  const toGuardrail = (id: string) => {
    const row = defaults.get(id)
    return row && parseGuardrail(row)
  }
  const layers = {
    organization: toGuardrail(organization),
    workspace: toGuardrail(workspace),
    member: undefined,
    key: undefined,
  }
  return expandAliases(db, { organization_id: organizationId, workspace_id: workspaceId }, layers)
}

async function loadDefaultGuardrails(
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

async function loadMemberGuardrail(db: Db, key: ApiKey): Promise<GuardrailRow | undefined> {
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

async function loadKeyGuardrail(db: Db, key: ApiKey): Promise<GuardrailRow | undefined> {
  return db
    .selectFrom('guardrail_keys')
    .innerJoin('guardrails', 'guardrails.id', 'guardrail_keys.guardrail_id')
    .selectAll('guardrails')
    .where('guardrail_keys.organization_id', '=', key.organization_id)
    .where('guardrail_keys.key_id', '=', key.id)
    .executeTakeFirst()
}
