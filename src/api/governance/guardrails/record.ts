import { z } from 'zod'
import { dataRegions } from '../../../formats/vocabulary.ts'
import { detectorLabels, detectorSlugs } from '../../../governance/filters/detectors.ts'
import { defaultThreshold } from '../../../governance/filters/prompt-injection.ts'
import {
  type BuiltinFilter,
  filterActions,
  filterScopes,
  type Guardrail,
  scanScopes,
  scopedBuiltin,
  unscannableActions,
} from '../../../governance/policy/guardrail.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { checkRecord, toCheckRecord } from './external-checks.ts'
import { moderationRecord } from './moderation.ts'

export const filterAction = z
  .enum(filterActions)
  .describe('`flag` only reports a match; `block` is the strictest action.')
export const resetInterval = z.enum(['daily', 'weekly', 'monthly'])
export const builtinSlug = z.enum(detectorSlugs)
export const scanScope = z.enum(scanScopes)
export const filterScope = z
  .enum(filterScopes)
  .describe('An extension: whether prompts, replies or both are scanned. Defaults to input.')
export const injectionThreshold = z
  .number()
  .min(0.05)
  .max(1)
  .describe(
    `An extension, only for ${scopedBuiltin}: the score from which a text counts as an injection. Patterns match at any score. Defaults to ${defaultThreshold}.`,
  )
export const reversible = z
  .boolean()
  .describe(
    'An extension: whether a match in a prompt is replaced by a placeholder such as `[EMAIL_1]`, which is restored in the reply.',
  )
export const unscannableAction = z
  .enum(unscannableActions)
  .describe('An extension: what happens to content that no filter can read, such as images.')

const builtinEntry = z
  .strictObject({
    slug: builtinSlug,
    action: filterAction,
    scan_scope: scanScope.optional(),
    scope: filterScope.optional(),
    threshold: injectionThreshold.optional(),
    reversible: reversible.optional(),
    label: z.string().describe('The text that replaces a match.'),
  })
  .meta({ id: 'GuardrailBuiltinFilter' })

const customEntry = z
  .strictObject({
    pattern: z.string(),
    action: filterAction,
    label: z.string().nullable(),
    scope: filterScope.optional(),
    reversible: reversible.optional(),
  })
  .meta({ id: 'GuardrailCustomFilter' })

const names = z.array(z.string()).nullable()
const choice = z.boolean().nullable()

export const guardrailRecord = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    scope: z.enum(['organization', 'workspace']).describe('`organization` applies to every workspace.'),
    workspace_id: z
      .uuid()
      .describe('The workspace; for the guardrail of the organization, its default workspace.'),
    limit_usd: z.number().nullable(),
    reset_interval: resetInterval.nullable().describe('null if the limit never resets.'),
    include_byok_in_budgets: z.boolean(),
    allowed_data_regions: z
      .array(z.enum(dataRegions))
      .nullable()
      .describe('The allowed data regions; null for every region.'),
    allowed_models: names.describe('Canonical slugs, or variants of them; null for every model.'),
    ignored_models: names,
    allowed_providers: names.describe('Provider slugs; null for every provider.'),
    ignored_providers: names,
    content_filter_builtins: z.array(builtinEntry).nullable(),
    content_filters: z.array(customEntry).nullable(),
    moderation: moderationRecord.nullable(),
    external_checks: z
      .array(checkRecord)
      .nullable()
      .describe('An extension: services that texts are sent to.'),
    enable_free_model_publication: choice,
    enable_free_model_training: choice,
    enable_paid_model_training: choice,
    enforce_zdr: choice.meta({ deprecated: true }),
    enforce_zdr_vendor_a: choice,
    enforce_zdr_vendor_b: choice,
    enforce_zdr_vendor_c: choice,
    enforce_zdr_vendor_d: choice,
    enforce_zdr_other: choice.describe('For models of none of the four vendors.'),
    dry_run: z
      .boolean()
      .describe('An extension: true if the guardrail only records what it would do, and enforces nothing.'),
    unscannable_content: unscannableAction.nullable(),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'Guardrail' })

/** `workspaceId` is the workspace the guardrail belongs to. */
export function toGuardrailRecord(
  guardrail: Guardrail,
  workspaceId: string,
): z.input<typeof guardrailRecord> {
  return {
    id: guardrail.id,
    name: guardrail.name,
    description: guardrail.description,
    scope: guardrail.workspace_id === null ? 'organization' : 'workspace',
    workspace_id: workspaceId,
    limit_usd: guardrail.limit_nanos === null ? null : usdFromNanos(guardrail.limit_nanos),
    reset_interval: guardrail.reset_interval,
    include_byok_in_budgets: guardrail.include_byok_in_budgets,
    allowed_data_regions: guardrail.allowed_data_regions,
    allowed_models: guardrail.allowed_models,
    ignored_models: guardrail.ignored_models,
    allowed_providers: guardrail.allowed_providers,
    ignored_providers: guardrail.ignored_providers,
    content_filter_builtins: guardrail.content_filter_builtins?.map(toBuiltinEntry) ?? null,
    content_filters: guardrail.content_filters,
    moderation: guardrail.moderation,
    external_checks: guardrail.external_checks?.checks.map(toCheckRecord) ?? null,
    enable_free_model_publication: guardrail.enable_free_model_publication,
    enable_free_model_training: guardrail.enable_free_model_training,
    enable_paid_model_training: guardrail.enable_paid_model_training,
    enforce_zdr: guardrail.enforce_zdr,
    enforce_zdr_vendor_a: guardrail.enforce_zdr_vendor_a,
    enforce_zdr_vendor_b: guardrail.enforce_zdr_vendor_b,
    enforce_zdr_vendor_c: guardrail.enforce_zdr_vendor_c,
    enforce_zdr_vendor_d: guardrail.enforce_zdr_vendor_d,
    enforce_zdr_other: guardrail.enforce_zdr_other,
    dry_run: guardrail.dry_run,
    unscannable_content: guardrail.unscannable_content,
    created_at: guardrail.created_at,
    updated_at: guardrail.updated_at,
  }
}

function toBuiltinEntry(filter: BuiltinFilter): z.input<typeof builtinEntry> {
  return { ...filter, label: detectorLabels[filter.slug] }
}
