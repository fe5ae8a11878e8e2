import { z } from 'zod'
import type { Catalog } from '../../catalog/catalog.ts'
import { readModelRule } from '../../catalog/model-rule.ts'
import { dataRegions } from '../../catalog/vocabulary.ts'
import type { GuardrailTable } from '../../db/schema.ts'
import { flag, listText } from '../../db/values.ts'
import { badField } from '../../errors.ts'
import { smallestUsd, usdAmount } from '../../ledger/money.ts'
import { present } from '../../lib/schema-rules.ts'
import { builtinFilters, customFilters } from './filters.ts'
import { resetInterval } from './record.ts'

/** The columns a request can set. */
export type Settings = Omit<
  GuardrailTable,
  'id' | 'organization_id' | 'workspace_id' | 'created_at' | 'updated_at'
>

/** Far more than the catalogue has. */
const maxNames = 1000

const name = z.string().trim().min(1).max(200)
const names = z.array(z.string().min(1).max(256)).min(1).max(maxNames).nullish()
const choice = z.boolean().nullish()

const settingFields = {
  description: z.string().max(1000).nullish(),
  limit_usd: usdAmount
    .refine((nanos) => nanos > 0n, 'must be more than 0')
    .meta({ override: { minimum: smallestUsd } })
    .nullish()
    .describe('Goes together with reset_interval'),
  reset_interval: resetInterval.nullish(),
  include_byok_in_budgets: z.boolean().optional(),
  allowed_data_regions: z.array(z.enum(dataRegions)).min(1).max(maxNames).nullish(),
  allowed_models: names.describe(
    'Slugs, canonical slugs or aliases; with a suffix such as :free, only that variant',
  ),
  ignored_models: names,
  allowed_providers: names.describe('Slugs or display names'),
  ignored_providers: names,
  content_filter_builtins: builtinFilters.nullish(),
  content_filters: customFilters.nullish(),
  enable_free_model_publication: choice,
  enable_free_model_training: choice,
  enable_paid_model_training: choice,
  enforce_zdr: choice.meta({ deprecated: true }),
  enforce_zdr_vendor_a: choice,
  enforce_zdr_vendor_b: choice,
  enforce_zdr_vendor_c: choice,
  enforce_zdr_vendor_d: choice,
  enforce_zdr_other: choice,
}

export const createBody = z
  .strictObject({ name, workspace_id: z.uuid().optional(), ...settingFields })
  // As `refuseHalfBudget` has it.
  .meta({
    override: {
      anyOf: [
        present('limit_usd', 'reset_interval'),
        { properties: { limit_usd: { type: 'null' }, reset_interval: { type: 'null' } } },
      ],
    },
  })
export const updateBody = z.strictObject({ name: name.optional(), ...settingFields })

type Body = z.output<typeof updateBody>

/** The columns for the fields that were sent. */
export function changesOf(body: Body, catalog: Catalog): Partial<Settings> {
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.description !== undefined && { description: body.description }),
    ...(body.limit_usd !== undefined && { limit_nanos: body.limit_usd }),
    ...(body.reset_interval !== undefined && { reset_interval: body.reset_interval }),
    ...(body.include_byok_in_budgets !== undefined && {
      include_byok_in_budgets: flag(body.include_byok_in_budgets),
    }),
    ...listChanges(body, catalog),
    ...switchChanges(body),
    ...zdrChanges(body),
  }
}

function listChanges(body: Body, catalog: Catalog): Partial<Settings> {
  const models = (field: 'allowed_models' | 'ignored_models') =>
    body[field]?.map((slug, at) => readModelRule(catalog, slug, `${field}.${at}`))
  const providers = (field: 'allowed_providers' | 'ignored_providers') =>
    body[field]?.map((text, at) => providerSlug(catalog, text) ?? unknown(field, at, text))
  return {
    ...(body.allowed_data_regions !== undefined && {
      allowed_data_regions: listText(body.allowed_data_regions),
    }),
    ...(body.allowed_models !== undefined && { allowed_models: listText(models('allowed_models')) }),
    ...(body.ignored_models !== undefined && { ignored_models: listText(models('ignored_models')) }),
    ...(body.allowed_providers !== undefined && {
      allowed_providers: listText(providers('allowed_providers')),
    }),
    ...(body.ignored_providers !== undefined && {
      ignored_providers: listText(providers('ignored_providers')),
    }),
    ...(body.content_filter_builtins !== undefined && {
      content_filter_builtins: listText(body.content_filter_builtins),
    }),
    ...(body.content_filters !== undefined && { content_filters: listText(body.content_filters) }),
  }
}

function providerSlug({ providerByName }: Catalog, text: string): string | undefined {
  return (providerByName.get(text) ?? providerByName.get(text.toLowerCase()))?.slug
}

function unknown(field: string, at: number, value: string): never {
  throw badField(`${field}.${at}`, `"${value}" is not a known provider`)
}

function switchChanges(body: Body): Partial<Settings> {
  return {
    ...(body.enable_free_model_publication !== undefined && {
      enable_free_model_publication: flag(body.enable_free_model_publication),
    }),
    ...(body.enable_free_model_training !== undefined && {
      enable_free_model_training: flag(body.enable_free_model_training),
    }),
    ...(body.enable_paid_model_training !== undefined && {
      enable_paid_model_training: flag(body.enable_paid_model_training),
    }),
  }
}

/** The deprecated field speaks for each vendor that the same request does not name. */
function zdrChanges(body: Body): Partial<Settings> {
  const wanted = (given: boolean | null | undefined) => (given === undefined ? body.enforce_zdr : given)
  const [a, b, c, d, other] = [
    wanted(body.enforce_zdr_vendor_a),
    wanted(body.enforce_zdr_vendor_b),
    wanted(body.enforce_zdr_vendor_c),
    wanted(body.enforce_zdr_vendor_d),
    wanted(body.enforce_zdr_other),
  ]
  return {
    ...(body.enforce_zdr !== undefined && { enforce_zdr: flag(body.enforce_zdr) }),
    ...(a !== undefined && { enforce_zdr_vendor_a: flag(a) }),
    ...(b !== undefined && { enforce_zdr_vendor_b: flag(b) }),
    ...(c !== undefined && { enforce_zdr_vendor_c: flag(c) }),
    ...(d !== undefined && { enforce_zdr_vendor_d: flag(d) }),
    ...(other !== undefined && { enforce_zdr_other: flag(other) }),
  }
}

/** A new guardrail says both. Changed later, a limit without an interval is one that never resets. */
export function refuseHalfBudget(settings: Pick<Settings, 'limit_nanos' | 'reset_interval'>): void {
  const { limit_nanos, reset_interval } = settings
  if ((limit_nanos === null) === (reset_interval === null)) return
  const missing = limit_nanos === null ? 'limit_usd' : 'reset_interval'
  throw badField(missing, 'limit_usd and reset_interval must both be set, or both be null')
}
