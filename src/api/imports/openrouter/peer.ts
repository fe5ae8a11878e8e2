import { z } from 'zod'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { flattenIssues } from '../../../platform/validation/validation-issues.ts'
import { importedKey } from '../../identity/keys/imported-key.ts'
import { toNanos } from '../amounts.ts'
import {
  type AccountPlan,
  type ImportPlan,
  noAccounts,
  noCatalog,
  type PlannedGuardrail,
  type PlannedPreset,
  type PolicyPlan,
  type SkippedItem,
} from '../import-plan.ts'
import { type JsonRecord, listRecords } from '../json-export.ts'
import type { Peer } from '../peer.ts'
import type { ImportDocument } from '../source.ts'
import { identity } from './vendors.ts'

const resets = z.enum(['daily', 'weekly', 'monthly'])
const amount = z.number().nonnegative().nullish().catch(null)

const keyRecord = z.object({
  hash: z.string(),
  name: z.string().catch(''),
  label: z.string().nullish().catch(null),
  disabled: z.boolean().catch(false),
  limit: amount,
  limit_reset: resets.nullish().catch(null),
  include_byok_in_limit: z.boolean().catch(false),
  expires_at: z.string().nullish().catch(null),
  usage: amount,
  usage_daily: amount,
  usage_weekly: amount,
  usage_monthly: amount,
  workspace_id: z.string().nullish().catch(null),
})
type KeyRecord = z.output<typeof keyRecord>

const workspaceRecord = z.object({ id: z.string(), slug: z.string(), name: z.string() })
const guardrailRecord = z.looseObject({
  id: z.string(),
  name: z.string(),
  workspace_id: z.string().nullish().catch(null),
})
const presetRecord = z.object({
  slug: z.string(),
  name: z.string().nullish().catch(null),
  description: z.string().nullish().catch(null),
  status: z.string().catch('active'),
  designated_version: z
    .object({
      config: z.record(z.string(), z.unknown()).nullish().catch(null),
      system_prompt: z.string().nullish().catch(null),
      format: z.enum(['chat', 'messages', 'responses']).catch('chat'),
    })
    .nullish()
    .catch(null),
})
const assignmentRecord = z.object({ key_hash: z.string(), guardrail_id: z.string() })

/** Fields of a guardrail that are not part of a request, or are mapped by themselves. */
const ownFields = ['id', 'name', 'workspace_id', 'scope', 'created_at', 'updated_at']

const isKey = (record: JsonRecord) => 'hash' in record && 'usage' in record
const isGuardrail = (record: JsonRecord) => 'id' in record && 'include_byok_in_budgets' in record
const isPreset = (record: JsonRecord) =>
  'slug' in record && ('designated_version_id' in record || 'designated_version' in record)
const isAssignment = (record: JsonRecord) => 'key_hash' in record && 'guardrail_id' in record
const isWorkspace = (record: JsonRecord) => 'slug' in record && 'id' in record && !isPreset(record)

export const openrouter: Peer = {
  ...identity,
  reads:
    'keys with their limits and spend, guardrails and presets from saved responses of the API of OpenRouter',
  tables: {},
  recognizes: (document) =>
    [isKey, isGuardrail, isPreset].some((isWanted) => listRecords(document, isWanted).length > 0),
  translate: (documents, { now }) => translateExport(documents, now),
}

function translateExport(documents: readonly ImportDocument[], now: number): ImportPlan {
  const list = (isWanted: (record: JsonRecord) => boolean) =>
    documents.flatMap((document) => listRecords(document, isWanted))
  const workspaces = new Map(
    list(isWorkspace).flatMap((record) => {
      const { data } = workspaceRecord.safeParse(record)
      return data ? [[data.id, data] as const] : []
    }),
  )
  const accounts: AccountPlan = { ...noAccounts, workspaces: [], keys: [] }
  const skipped: SkippedItem[] = []
  for (const { slug, name } of workspaces.values())
    if (slug !== 'default') accounts.workspaces.push({ slug, name, budget: null, spend: 0n, models: null })
  for (const record of list(isKey)) addKey(record, workspaces, { accounts, skipped, now })
  const presets = translatePresets(list(isPreset))
  skipped.push(...presets.skipped)
  const guardrails = translateGuardrails(list(isGuardrail), list(isAssignment), workspaces)
  const policies: PolicyPlan = { guardrails, presets: presets.planned }
  return { catalog: noCatalog, accounts, policies, skipped }
}

function addKey(
  record: JsonRecord,
  workspaces: Workspaces,
  { accounts, skipped, now }: { accounts: AccountPlan; skipped: SkippedItem[]; now: number },
): void {
  const { data } = keyRecord.safeParse(record)
  const result = data && translateKey(data, workspaces, now)
  if (!data || !result) return
  const name = data.name || data.label || `Key ${data.hash.slice(0, 8)}`
  if ('problem' in result) skipped.push({ kind: 'key', name, reason: result.problem })
  else accounts.keys.push({ key: result.key, models: null })
  if (data.workspace_id && workspaces.size > 0 && !workspaces.has(data.workspace_id)) {
    const reason = 'its workspace is not in the files: it is in the default workspace'
    skipped.push({ kind: 'key', name, reason })
  }
}

function translatePresets(records: readonly JsonRecord[]) {
  const entries = records.flatMap((record) => presetRecord.safeParse(record).data ?? [])
  const planned: PlannedPreset[] = []
  const skipped: SkippedItem[] = []
  // The list of presets has no versions: a response with one counts more.
  const isWhole = ({ designated_version }: PresetRecord) => designated_version != null
  const bySlug = Map.groupBy(entries, ({ slug }) => slug)
  for (const [slug, some] of bySlug) {
    const preset = some.find(isWhole) ?? some[0]
    const version = preset?.designated_version
    if (preset?.status === 'archived') skipped.push({ kind: 'preset', name: slug, reason: 'is archived' })
    else if (preset && version) planned.push(toPreset(preset, version))
    else {
      const reason = `its version is not in the files: save GET /presets/${slug} too`
      skipped.push({ kind: 'preset', name: slug, reason })
    }
  }
  return { planned, skipped }
}

type PresetRecord = z.output<typeof presetRecord>

function toPreset(
  { slug, name, description, status }: PresetRecord,
  { config, system_prompt, format }: NonNullable<PresetRecord['designated_version']>,
): PlannedPreset {
  return {
    ...{ slug, name: name ?? null, description: description ?? null, isDisabled: status === 'disabled' },
    ...{ format, config: config ?? {}, systemPrompt: system_prompt ?? null },
  }
}

function translateGuardrails(
  records: readonly JsonRecord[],
  assignments: readonly JsonRecord[],
  workspaces: Workspaces,
): PlannedGuardrail[] {
  const assigned = assignments.flatMap((record) => assignmentRecord.safeParse(record).data ?? [])
  return records.flatMap((record) => {
    const { data } = guardrailRecord.safeParse(record)
    if (!data) return []
    const { id, name, workspace_id } = data
    const fields = Object.entries(record).filter(
      ([field, value]) => !ownFields.includes(field) && value !== null,
    )
    return {
      name,
      workspace: workspaces.get(workspace_id ?? '')?.slug ?? null,
      fields: Object.fromEntries(fields),
      keys: assigned
        .filter(({ guardrail_id }) => guardrail_id === id)
        .map(({ key_hash }) => key_hash.toLowerCase()),
    }
  })
}

type Workspaces = ReadonlyMap<string, z.output<typeof workspaceRecord>>
type Translated = { key: AccountPlan['keys'][number]['key'] } | { problem: string }

function translateKey(record: KeyRecord, workspaces: Workspaces, now: number): Translated {
  if (!/^[0-9a-f]{64}$/i.test(record.hash)) return { problem: 'hash is not a SHA-256' }
  const expires = record.expires_at ? Date.parse(record.expires_at) : Number.NaN
  if (expires <= now) return { problem: 'has expired' }
  const workspace = workspaces.get(record.workspace_id ?? '')
  const inWindow = toNanos(record[windowFields[record.limit_reset ?? 'none'] ?? 'usage'])
  const total = [toNanos(record.usage), inWindow].reduce((a, b) => (a > b ? a : b))
  const result = importedKey.safeParse({
    hash: record.hash,
    name: record.name || record.label || `Key ${record.hash.slice(0, 8)}`,
    ...(record.label && { label: record.label.slice(0, 64) }),
    ...(workspace && { workspace: workspace.slug }),
    ...(record.limit != null && { limit: record.limit, limit_reset: record.limit_reset ?? null }),
    include_byok_in_limit: record.include_byok_in_limit,
    ...(!Number.isNaN(expires) && { expires_at: new Date(expires).toISOString() }),
    disabled: record.disabled,
    spend: usdFromNanos(total),
    ...(record.limit != null && record.limit_reset && { spend_in_window: usdFromNanos(inWindow) }),
  })
  if (result.success) return { key: { ...result.data, hash: record.hash.toLowerCase() } }
  const [issue] = flattenIssues(result.error)
  return { problem: `${issue?.path.join('.')}: ${issue?.message}` }
}

const windowFields: Readonly<Record<string, 'usage' | 'usage_daily' | 'usage_weekly' | 'usage_monthly'>> = {
  daily: 'usage_daily',
  weekly: 'usage_weekly',
  monthly: 'usage_monthly',
}
