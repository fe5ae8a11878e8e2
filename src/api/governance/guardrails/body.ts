import { z } from 'zod'
import { findUnknownAliasRule, isAliasRule } from '../../../catalog/aliases.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import { parseModelRule } from '../../../catalog/model-rule.ts'
import { dataRegions } from '../../../formats/vocabulary.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { GuardrailRow } from '../../../governance/policy/guardrail.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { GuardrailTable } from '../../../platform/db/schema.ts'
import { encodeList, toFlag } from '../../../platform/db/values.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { minUsd } from '../../../platform/money/money.ts'
import { usdAmount } from '../../../platform/money/money-schema.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { requireFields } from '../../../platform/validation/schema-rules.ts'
import { externalChecksBody } from './external-checks.ts'
import { builtinFilters, customFilters } from './filters.ts'
import { encodeModeration, moderationBody } from './moderation.ts'
import { resetInterval, unscannableAction } from './record.ts'

/** The columns a request can set. */
export type GuardrailSettings = Omit<
  GuardrailTable,
  'id' | 'organization_id' | 'workspace_id' | 'created_at' | 'updated_at'
>

/** Maximum names, far more than the catalog has. */
const maxNames = 1000

const name = nameField(200)
const names = z.array(z.string().min(1).max(256)).min(1).max(maxNames).nullish()
const choice = z.boolean().nullish()

const settingFields = {
  description: z.string().max(1000).nullish(),
  limit_usd: usdAmount
    .refine((nanos) => nanos > 0n, 'must be more than 0')
    .meta({ override: { minimum: minUsd } })
    .nullish()
    .describe('The budget in USD. Requires reset_interval.'),
  reset_interval: resetInterval.nullish(),
  include_byok_in_budgets: z.boolean().optional(),
  allowed_data_regions: z.array(z.enum(dataRegions)).min(1).max(maxNames).nullish(),
  allowed_models: names.describe(
    'Slugs, canonical slugs or aliases. A suffix such as :free selects only that variant. `@name` stands for the models of a model alias. A router model may be named; the models it chooses have to be allowed themselves.',
  ),
  ignored_models: names,
  allowed_providers: names.describe('Provider slugs or display names.'),
  ignored_providers: names,
  content_filter_builtins: builtinFilters.nullish(),
  content_filters: customFilters.nullish(),
  moderation: moderationBody.nullish().describe('A moderation model classifies prompts.'),
  external_checks: externalChecksBody.nullish(),
  enable_free_model_publication: choice,
  enable_free_model_training: choice,
  enable_paid_model_training: choice,
  enforce_zdr: choice.meta({ deprecated: true }),
  enforce_zdr_vendor_a: choice,
  enforce_zdr_vendor_b: choice,
  enforce_zdr_vendor_c: choice,
  enforce_zdr_vendor_d: choice,
  enforce_zdr_other: choice,
  dry_run: z
    .boolean()
    .optional()
    .describe('An extension: if true, the guardrail only records what it would do. Defaults to false.'),
  unscannable_content: unscannableAction.nullish(),
}

export const createBody = z
  .strictObject({ name, workspace_id: z.uuid().optional(), ...settingFields })
  // Documents what `validateBudget` enforces.
  .meta({
    override: {
      anyOf: [
        requireFields('limit_usd', 'reset_interval'),
        { properties: { limit_usd: { type: 'null' }, reset_interval: { type: 'null' } } },
      ],
    },
  })
export const updateBody = z.strictObject({ name: name.optional(), ...settingFields })

type GuardrailBody = z.output<typeof updateBody>

/** Converts only the fields that were sent. */
export function toChanges(
  body: GuardrailBody,
  gateway: Pick<Gateway, 'catalog' | 'settings'>,
): Partial<GuardrailSettings> {
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.description !== undefined && { description: body.description }),
    ...(body.limit_usd !== undefined && { limit_nanos: body.limit_usd }),
    ...(body.reset_interval !== undefined && { reset_interval: body.reset_interval }),
    ...(body.include_byok_in_budgets !== undefined && {
      include_byok_in_budgets: toFlag(body.include_byok_in_budgets),
    }),
    ...(body.dry_run !== undefined && { dry_run: toFlag(body.dry_run) }),
    ...(body.unscannable_content !== undefined && { unscannable_content: body.unscannable_content }),
    ...toListChanges(body, gateway.catalog),
    ...(body.moderation !== undefined && { moderation: encodeModeration(gateway, body.moderation) }),
    ...toSwitchChanges(body),
    ...toZdrChanges(body),
  }
}

/** Rejects `@name` of an alias that a workspace, or the organization, does not have. */
export async function rejectUnknownAliases(
  tx: Db,
  place: Pick<GuardrailRow, 'organization_id' | 'workspace_id'>,
  body: GuardrailBody,
): Promise<void> {
  for (const field of ['allowed_models', 'ignored_models'] as const) {
    const unknown = await findUnknownAliasRule(tx, place, body[field] ?? [])
    if (unknown === undefined) continue
    throw invalidFieldError(
      `${field}.${body[field]?.indexOf(unknown)}`,
      `there is no model alias "${unknown}"`,
    )
  }
}

function toListChanges(body: GuardrailBody, catalog: Catalog): Partial<GuardrailSettings> {
  const parseModels = (field: 'allowed_models' | 'ignored_models') =>
    body[field]?.map((slug, at) =>
      isAliasRule(slug) ? slug : parseModelRule(catalog, slug, `${field}.${at}`),
    )
  const parseProviders = (field: 'allowed_providers' | 'ignored_providers') =>
    body[field]?.map(
      (text, at) => resolveProviderSlug(catalog, text) ?? rejectUnknownProvider(field, at, text),
    )
  return {
    ...(body.allowed_data_regions !== undefined && {
      allowed_data_regions: encodeList(body.allowed_data_regions),
    }),
    ...(body.allowed_models !== undefined && { allowed_models: encodeList(parseModels('allowed_models')) }),
    ...(body.ignored_models !== undefined && { ignored_models: encodeList(parseModels('ignored_models')) }),
    ...(body.allowed_providers !== undefined && {
      allowed_providers: encodeList(parseProviders('allowed_providers')),
    }),
    ...(body.ignored_providers !== undefined && {
      ignored_providers: encodeList(parseProviders('ignored_providers')),
    }),
    ...(body.content_filter_builtins !== undefined && {
      content_filter_builtins: encodeList(body.content_filter_builtins),
    }),
    ...(body.content_filters !== undefined && { content_filters: encodeList(body.content_filters) }),
  }
}

function resolveProviderSlug({ providerByName }: Catalog, text: string): string | undefined {
  return (providerByName.get(text) ?? providerByName.get(text.toLowerCase()))?.slug
}

function rejectUnknownProvider(field: string, at: number, value: string): never {
  throw invalidFieldError(`${field}.${at}`, `"${value}" is not a known provider`)
}

function toSwitchChanges(body: GuardrailBody): Partial<GuardrailSettings> {
  return {
    ...(body.enable_free_model_publication !== undefined && {
      enable_free_model_publication: toFlag(body.enable_free_model_publication),
    }),
    ...(body.enable_free_model_training !== undefined && {
      enable_free_model_training: toFlag(body.enable_free_model_training),
    }),
    ...(body.enable_paid_model_training !== undefined && {
      enable_paid_model_training: toFlag(body.enable_paid_model_training),
    }),
  }
}

/** The deprecated field applies to each vendor that the request does not set. */
function toZdrChanges(body: GuardrailBody): Partial<GuardrailSettings> {
  const resolveZdr = (value: boolean | null | undefined) => (value === undefined ? body.enforce_zdr : value)
  const [a, b, c, d, other] = [
    resolveZdr(body.enforce_zdr_vendor_a),
    resolveZdr(body.enforce_zdr_vendor_b),
    resolveZdr(body.enforce_zdr_vendor_c),
    resolveZdr(body.enforce_zdr_vendor_d),
    resolveZdr(body.enforce_zdr_other),
  ]
  return {
    ...(body.enforce_zdr !== undefined && { enforce_zdr: toFlag(body.enforce_zdr) }),
    ...(a !== undefined && { enforce_zdr_vendor_a: toFlag(a) }),
    ...(b !== undefined && { enforce_zdr_vendor_b: toFlag(b) }),
    ...(c !== undefined && { enforce_zdr_vendor_c: toFlag(c) }),
    ...(d !== undefined && { enforce_zdr_vendor_d: toFlag(d) }),
    ...(other !== undefined && { enforce_zdr_other: toFlag(other) }),
  }
}

/** A new guardrail needs both. In an update, a limit without an interval never resets. */
export function validateBudget(settings: Pick<GuardrailSettings, 'limit_nanos' | 'reset_interval'>): void {
  const { limit_nanos, reset_interval } = settings
  if ((limit_nanos === null) === (reset_interval === null)) return
  const missing = limit_nanos === null ? 'limit_usd' : 'reset_interval'
  throw invalidFieldError(missing, 'limit_usd and reset_interval must both be set, or both be null')
}
