import { z } from 'zod'
import { detectorLabels, detectorSlugs } from '../../../governance/filters/detectors.ts'
import { measuredAccuracy } from '../../../governance/filters/measured-accuracy.ts'
import { defaultThreshold } from '../../../governance/filters/prompt-injection.ts'
import { scopedBuiltin } from '../../../governance/policy/guardrail.ts'
import { defineOperation } from '../../../http/operation.ts'
import { tag } from './guardrail.ts'
import { builtinSlug, injectionThreshold } from './record.ts'

const share = z.number().min(0).max(1).nullable()

const accuracy = z
  .strictObject({
    set: z.string().describe('The public set of texts.'),
    language: z.string(),
    marks: z.int().describe('What the filter should find in the set.'),
    recall: share.describe('The share of the marks that it finds; null if the set has none.'),
    precision: share.describe('The share of its matches that are right; null if the set does not tell.'),
    others: z.int().describe('Texts of the set in which it should find nothing, if they were counted.'),
    flagged: share.describe('The share of these texts in which it matches.'),
    developed_with: z
      .boolean()
      .describe('Whether the filter was developed with these texts: other texts have lower figures.'),
  })
  .meta({ id: 'FilterAccuracy' })

const builtinFilter = z
  .strictObject({
    slug: builtinSlug,
    label: z.string().describe('The text that replaces a match.'),
    default_threshold: injectionThreshold
      .nullable()
      .describe(
        'The score from which a text counts where a guardrail sets none; null for filters without a score.',
      ),
    accuracy: z.array(accuracy).describe('Measured on public texts; empty if it was not.'),
  })
  .meta({ id: 'BuiltinFilter' })

const listBuiltinFiltersOperation = defineOperation({
  id: 'listBuiltinFilters',
  method: 'GET',
  path: '/guardrails/filters',
  tag,
  summary: 'Lists the built-in content filters, and how much each finds in public texts.',
  permission: 'guardrails:read',
  response: z.strictObject({ data: z.array(builtinFilter) }),
  handle: async () => ({
    data: detectorSlugs.map((slug) => ({
      slug,
      label: detectorLabels[slug],
      default_threshold: slug === scopedBuiltin ? defaultThreshold : null,
      accuracy: [...measuredAccuracy[slug]],
    })),
  }),
})

export const builtinFilterOperations = [listBuiltinFiltersOperation]
