import { z } from 'zod'
import { dataRegions } from '../../../formats/vocabulary.ts'
import { detectorLabels } from '../../../governance/filters/detectors.ts'
import {
  buildOrganizationGuardrail,
  buildWorkspaceGuardrail,
} from '../../../governance/policy/default-guardrail.ts'
import {
  type Budget,
  computeEffectivePolicy,
  type EffectivePolicy,
  type EffectiveRules,
  type Layer,
  type Layers,
  layerNames,
} from '../../../governance/policy/effective.ts'
import { zdrGroups } from '../../../governance/policy/guardrail.ts'
import { loadLayers } from '../../../governance/policy/store.ts'
import { defineOperation } from '../../../http/operation.ts'
import type { ApiKey } from '../../../identity/keys.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { requireKey } from './draft.ts'
import { effectiveCheck, toCheckRecord } from './external-checks.ts'
import { effectiveModeration } from './moderation.ts'
import {
  builtinSlug,
  filterAction,
  injectionThreshold,
  resetInterval,
  reversible,
  scanScope,
  unscannableAction,
} from './record.ts'

const layer = z.enum(layerNames)
const layers = z.array(layer).describe('The layers that set this.')
const sources = z.array(z.strictObject({ layer, action: filterAction })).describe('The action of each layer.')

const restrictionSchema = <T extends z.ZodType>(value: T) =>
  z.strictObject({
    values: z
      .array(value)
      .nullable()
      .describe('null if there is no restriction; an empty list allows nothing.'),
    layers,
  })
const denied = z.array(z.strictObject({ value: z.string(), layers }))
const choice = z.strictObject({
  value: z.boolean().nullable().describe('false excludes such endpoints; null if no layer sets it.'),
  layers,
})
const enforced = z.strictObject({ value: z.boolean(), layers })

/** A filter of both sides is listed for each. */
const filterDirection = z.enum(['input', 'output'])

const budget = z.strictObject({
  layer,
  guardrail_id: z.uuid(),
  limit_usd: z.number(),
  reset_interval: resetInterval.nullable().describe('null if the budget never resets.'),
  include_byok_in_budgets: z.boolean(),
  scope: z.enum(['key', 'member']).describe('Whose spending counts: this key, or all keys of its creator.'),
})

const layerRecord = z.strictObject({
  layer,
  guardrail_id: z.uuid().nullable().describe('null if no guardrail is assigned.'),
  configured: z.boolean().describe('Whether the layer has any setting.'),
  name: z.string().nullable(),
  dry_run: z.boolean().describe('Whether its guardrail is only recorded.'),
})

const ruleFields = {
  allowed_data_regions: restrictionSchema(z.enum(dataRegions)),
  allowed_models: restrictionSchema(z.string()),
  allowed_providers: restrictionSchema(z.string()),
  ignored_models: denied,
  ignored_providers: denied,
  content_filter_builtins: z.array(
    z.strictObject({
      slug: builtinSlug,
      action: filterAction,
      scan_scope: scanScope.optional(),
      scope: filterDirection,
      threshold: injectionThreshold.optional(),
      reversible: reversible.optional(),
      label: z.string(),
      sources,
    }),
  ),
  content_filters: z.array(
    z.strictObject({
      pattern: z.string(),
      action: filterAction,
      label: z.string().nullable(),
      scope: filterDirection,
      reversible: reversible.optional(),
      sources,
    }),
  ),
  moderation: z.array(effectiveModeration(layer)).describe('Each rule applies.'),
  external_checks: z.array(effectiveCheck(layer)).describe('Each check applies.'),
  enable_free_model_publication: choice,
  enable_free_model_training: choice,
  enable_paid_model_training: choice,
  enforce_zdr: z.record(z.enum(zdrGroups), enforced).describe('Zero data retention, by vendor.'),
  budgets: z.array(budget).describe('The budgets; a request must fit into each of them.'),
  unscannable_content: z.strictObject({ value: unscannableAction, layers }),
}

const rulesRecord = z.strictObject(ruleFields).meta({ id: 'PolicyRules' })

const policyRecord = z
  .strictObject({
    key_hash: z.string(),
    ...ruleFields,
    dry_run: rulesRecord
      .nullable()
      .describe('The rules of guardrails with dry_run, which are only recorded; null if there are none.'),
    layers: z.array(layerRecord),
  })
  .meta({ id: 'KeyPolicy' })

const getKeyPolicy = defineOperation({
  id: 'getKeyPolicy',
  method: 'GET',
  path: '/keys/{hash}/policy',
  tag: 'Guardrails',
  summary: 'Retrieves the effective policy of a key and the layers it comes from.',
  description:
    'All guardrails of a key apply together: the guardrail of the organization, the default guardrail of its workspace, the guardrail of the member who created it, and its own. Allow-lists are intersected, deny-lists and filters are combined, and the strictest action applies.',
  permission: 'guardrails:read',
  params: z.object({ hash: z.string().min(1).describe("The key's hash (SHA-256, in hex).") }),
  errors: [404],
  response: z.strictObject({ data: policyRecord }),
  handle: async ({ gateway, caller, scope, params }) => {
    const key = await requireKey(gateway, { caller, scope }, params.hash)
    const keyLayers = await loadLayers(gateway.db, key)
    return { data: toPolicyRecord(key, keyLayers, computeEffectivePolicy(keyLayers)) }
  },
})

export const policyOperations = [getKeyPolicy]

function toPolicyRecord(
  key: ApiKey,
  keyLayers: Layers,
  policy: EffectivePolicy,
): z.input<typeof policyRecord> {
  return {
    key_hash: key.hash,
    ...toRulesRecord(policy),
    dry_run: policy.dry_run && toRulesRecord(policy.dry_run),
    layers: layerNames.map((name) => toLayerRecord(key, name, keyLayers)),
  }
}

function toRulesRecord(rules: EffectiveRules): z.input<typeof rulesRecord> {
  return {
    allowed_data_regions: rules.allowed_data_regions,
    allowed_models: rules.allowed_models,
    allowed_providers: rules.allowed_providers,
    ignored_models: rules.ignored_models,
    ignored_providers: rules.ignored_providers,
    content_filter_builtins: rules.content_filter_builtins.map((filter) => ({
      ...filter,
      label: detectorLabels[filter.slug],
    })),
    content_filters: rules.content_filters,
    moderation: rules.moderation,
    external_checks: rules.external_checks.map((check) => ({ ...toCheckRecord(check), layer: check.layer })),
    enable_free_model_publication: rules.enable_free_model_publication,
    enable_free_model_training: rules.enable_free_model_training,
    enable_paid_model_training: rules.enable_paid_model_training,
    enforce_zdr: rules.enforce_zdr,
    budgets: rules.budgets.map(toBudgetRecord),
    unscannable_content: rules.unscannable_content,
  }
}

function toBudgetRecord({ limit_nanos, ...rest }: Budget): z.input<typeof budget> {
  return { ...rest, limit_usd: usdFromNanos(limit_nanos) }
}

/** The first two layers have an id before they are stored: the first PATCH needs it. */
function toLayerRecord(key: ApiKey, name: Layer, keyLayers: Layers): z.input<typeof layerRecord> {
  const defaultGuardrail = {
    organization: buildOrganizationGuardrail(key.organization_id),
    workspace: buildWorkspaceGuardrail(key.workspace_id),
    member: undefined,
    key: undefined,
  }[name]
  const guardrail = keyLayers[name] ?? defaultGuardrail
  return {
    layer: name,
    guardrail_id: guardrail?.id ?? null,
    configured: keyLayers[name] !== undefined,
    name: guardrail?.name ?? null,
    dry_run: keyLayers[name]?.dry_run ?? false,
  }
}
