import { listUsableAliases, toAliasRule } from '../../catalog/aliases.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { toModelRule } from '../../catalog/model-rule.ts'
import { findModelOrRouter } from '../../catalog/router-models.ts'
import { buildWorkspaceGuardrail } from '../../governance/policy/default-guardrail.ts'
import { assertWithinCeiling } from '../../identity/ceilings.ts'
import type { Workspace } from '../../identity/workspaces.ts'
import { newUuid } from '../../platform/crypto/ids.ts'
import { encodeList } from '../../platform/db/values.ts'
import { describeGuardrail, lockOrCreateGuardrail } from '../governance/guardrails/guardrail.ts'
import {
  assignGuardrail,
  createGuardrail,
  findGuardrailByName,
  keyAssignments,
  lockKeys,
  updateGuardrail,
} from '../governance/guardrails/store.ts'
import type { ImportTransaction } from './import-catalog.ts'
import type { PlannedKey } from './import-plan.ts'

export interface ModelRules {
  /** The rules of a guardrail; null: all models. */
  rules: string[] | null
  /** Names that are neither a model nor an alias. */
  unknown: string[]
}

/** An alias stands for all of its models. */
export async function resolveModelRules(
  { tx, organizationId }: ImportTransaction,
  catalog: Catalog,
  models: readonly string[] | null,
): Promise<ModelRules> {
  if (models === null) return { rules: null, unknown: [] }
  const aliases = await listUsableAliases(tx, { organization_id: organizationId, workspace_id: null })
  const names = new Set(aliases.map(({ name }) => name))
  const found = models.map((name) => {
    const model = names.has(name) ? undefined : findModelOrRouter(catalog, name)?.model
    return { name, rule: names.has(name) ? toAliasRule(name) : model && toModelRule(model) }
  })
  return {
    rules: [...new Set(found.flatMap(({ rule }) => rule ?? []))],
    unknown: found.filter(({ rule }) => rule === undefined).map(({ name }) => name),
  }
}

/** Sets the models that every request of a workspace may use. */
export async function restrictWorkspace(
  { gateway, tx, record, organizationId }: ImportTransaction,
  workspace: Workspace,
  rules: readonly string[],
): Promise<void> {
  const { id } = buildWorkspaceGuardrail(workspace.id)
  const before = await lockOrCreateGuardrail(tx, gateway.clock, organizationId, id)
  const after = await updateGuardrail(tx, gateway.clock, id, { allowed_models: encodeList([...rules]) })
  record({ action: 'guardrail.update', ...describeGuardrail(before), before, after })
}

/** Keys of one workspace with the same models share a guardrail. */
export async function restrictKeys(
  input: ImportTransaction,
  keys: readonly (Pick<PlannedKey, 'key'> & Pick<ModelRules, 'rules'>)[],
): Promise<void> {
  const restricted = keys.filter(({ rules }) => rules !== null)
  const byRules = Map.groupBy(restricted, ({ rules }) => JSON.stringify(rules))
  for (const [rules, group] of byRules) {
    const hashes = group.map(({ key }) => key.hash)
    const rows = await lockKeys(input.tx, input.organizationId, hashes)
    for (const [workspaceId, members] of Map.groupBy(rows, (row) => row.workspace_id))
      await assignRules(input, workspaceId, JSON.parse(rules) as string[], members)
  }
}

async function assignRules(
  { gateway, tx, record, organizationId }: ImportTransaction,
  workspaceId: string,
  rules: string[],
  keys: readonly { id: number; hash: string }[],
): Promise<void> {
  const { clock } = gateway
  const name = `Models: ${rules.join(', ')}`.slice(0, 100)
  const known = await findGuardrailByName(tx, workspaceId, name)
  const settings = { name, allowed_models: encodeList(rules) }
  const isSame = known?.allowed_models === settings.allowed_models
  const own = known && !isSame ? { ...settings, name: `${name.slice(0, 60)} ${newUuid()}` } : settings
  const guardrail =
    known && isSame
      ? known
      : await createGuardrail(tx, clock, { id: newUuid(), organizationId, workspaceId, settings: own })
  if (guardrail !== known) {
    await assertWithinCeiling(tx, gateway.settings.ceilings, 'guardrails', workspaceId)
    record({ action: 'guardrail.create', ...describeGuardrail(guardrail), after: guardrail })
  }
  await assignGuardrail(tx, clock, keyAssignments, { guardrail, by: null, ids: keys.map(({ id }) => id) })
  const details = { keys: keys.map(({ hash }) => hash) }
  record({ action: 'guardrail.assign', ...describeGuardrail(guardrail), details })
}
